"use strict";

// A request that failed is told in one place; the next one that succeeds takes it back.
const alertBox = document.getElementById("alert");

function tell(text) {
  alertBox.textContent = "";
  const line = document.createElement("p");
  line.className = "message error";
  line.textContent = text;
  alertBox.append(line);
}

// Of what the bell asks for by itself nothing is told, for nobody waits for it.
const isBell = (event) => event.target.id === "bell";

document.addEventListener("htmx:responseError", (event) => {
  if (!isBell(event)) tell(alertBox.dataset.failed);
});
document.addEventListener("htmx:sendError", (event) => {
  if (!isBell(event)) tell(alertBox.dataset.offline);
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (isBell(event)) return;
  if (event.detail.successful) alertBox.textContent = "";
  // A button is off while its form is sent, and so loses the focus it needs to try again.
  else if (document.activeElement === document.body) {
    event.detail.elt.querySelector("[type=submit]")?.focus();
  }
});

// Where what was pressed has gone, the answer says what has the focus now; a poll never does.
document.addEventListener("htmx:afterSettle", () => {
  const next = document.querySelector("[data-focus]");
  if (next) {
    next.removeAttribute("data-focus");
    next.focus();
  }
});

// The number of unread notices stands in the title and on the icon of an open page, too.
function ring() {
  const bell = document.getElementById("bell");
  const { count, icon } = bell.dataset;
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = count === "0" ? title : `(${count}) ${title}`;
  document.querySelector("link[rel=icon]").href = icon;
}

// A page that lists what waits is brought up to date with it, unless somebody is busy there.
function follow() {
  const main = document.querySelector("main[data-follows]");
  if (main && !main.querySelector(":focus, details[open]")) htmx.trigger(main, "refresh");
}

document.addEventListener("htmx:load", (event) => {
  if (!isBell(event)) return;
  ring();
  follow();
});

// A move is seen by making it; a page that comes back from elsewhere may have missed much.
function askBell() {
  const bell = document.getElementById("bell");
  if (bell) htmx.trigger(bell, "refresh");
}

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful && event.detail.requestConfig.verb === "post") askBell();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) askBell();
});
window.addEventListener("pageshow", (event) => {
  // Back and forward show what was kept, the whole page or what it was made from.
  const [way] = performance.getEntriesByType("navigation");
  if (event.persisted || way?.type === "back_forward") askBell();
});

// A long record shows the ply the page is about; the page itself stays where it is.
function showPly() {
  for (const ply of document.querySelectorAll(".record-scroll [aria-current]")) {
    const box = ply.closest(".record-scroll");
    const [at, room] = [ply, box].map((it) => it.getBoundingClientRect());
    if (at.top < room.top) box.scrollTop -= room.top - at.top + at.height;
    if (at.bottom > room.bottom) box.scrollTop += at.bottom - room.bottom + at.height;
  }
}

showPly();
document.addEventListener("htmx:afterSwap", showPly);

// Keys that press the link of their name: Escape takes a choice back, arrows turn the pages.
const KEYS = {
  Escape: "undo",
  ArrowLeft: "prev",
  ArrowRight: "next",
  Home: "first",
  End: "last",
};

document.addEventListener("keydown", (event) => {
  // A key held down must not run through a choice into its confirmation.
  if (event.repeat && event.key === "Enter" && event.target.closest("button, a")) {
    event.preventDefault();
    return;
  }
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const open = event.key === "Escape" && document.querySelector("details[data-closes][open]");
  if (open) {
    open.open = false;
    open.querySelector("summary").focus();
    return;
  }
  const link = event.key in KEYS && document.getElementById(KEYS[event.key]);
  if (link && link.href) {
    event.preventDefault();
    link.click();
  }
});

// A menu closes when something else is pressed.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[data-closes][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Two presses on a button are one; a form that htmx sends looks after itself.
const posted = new WeakMap();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (event.timeStamp - posted.get(form) < 2000) event.preventDefault();
  else posted.set(form, event.timeStamp);
});

// The time zone this device goes by: filled in for somebody new, offered to everybody else.
function zoneOf(name) {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return name;
  }
}

for (const field of document.querySelectorAll("input[data-zone]")) field.value = zoneOf() ?? "";

const zoneOffer = document.getElementById("zone-offer");

if (zoneOffer) {
  const list = document.getElementById("id_time_zone");
  const zone = [...list.options].find((option) => option.value === zoneOf());
  if (zone && zoneOf(list.value) !== zone.value) {
    zoneOffer.querySelector("b").textContent = zone.text;
    zoneOffer.hidden = false;
    zoneOffer.querySelector("button").addEventListener("click", () => {
      zone.selected = true;
      zoneOffer.hidden = true;
      list.focus();
    });
  }
}
