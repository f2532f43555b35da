"use strict";

// The page of a player's browsers: puts this one on the list. Permission is asked on the press.
const push = document.getElementById("push");
const pushForm = push.querySelector("form");
const enable = pushForm.querySelector("button");

function show(state) {
  for (const it of push.querySelectorAll("[data-when]")) {
    it.hidden = !it.dataset.when.split(" ").includes(state);
  }
}

// A subscription made under another key of the site brings nothing any more.
function isCurrent(subscription) {
  const key = String.fromCharCode(...new Uint8Array(subscription.options.applicationServerKey));
  const text = btoa(key).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return text === push.dataset.key;
}

function rowOf(subscription) {
  const rows = [...document.querySelectorAll("[data-endpoint]")];
  return rows.find((row) => row.dataset.endpoint === subscription.endpoint);
}

async function look() {
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    return show("unable");
  }
  if (Notification.permission === "denied") return show("denied");
  const registration = await navigator.serviceWorker.getRegistration("/");
  const subscription = await registration?.pushManager.getSubscription();
  const row = subscription && isCurrent(subscription) && rowOf(subscription);
  if (!row) return show("ready");
  row.querySelector("[data-this]").hidden = false;
  show("enabled");
}

async function subscribe() {
  const registration = await navigator.serviceWorker.register("/sw.js");
  await navigator.serviceWorker.ready;
  const before = await registration.pushManager.getSubscription();
  if (before && isCurrent(before)) return before;
  await before?.unsubscribe();
  return registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: push.dataset.key,
  });
}

async function turnOn() {
  if ((await Notification.requestPermission()) !== "granted") return look();
  const { endpoint, keys } = (await subscribe()).toJSON();
  for (const [name, value] of Object.entries({ endpoint, ...keys })) {
    const field = pushForm.elements[name];
    if (field) field.value = value;
  }
  pushForm.submit();
}

pushForm.addEventListener("submit", (event) => {
  event.preventDefault();
  enable.disabled = true;
  turnOn()
    .catch(() => show("failed"))
    .finally(() => (enable.disabled = false));
});

look().catch(() => show("failed"));
