"use strict";

// Shows what the site has to tell, and opens the page of it when pressed. It answers no request.

addEventListener("push", (event) => {
  const { title, body, url, tag } = event.data.json();
  // Of one game the newest alone is shown, and it makes itself heard again.
  const options = { body, tag, renotify: true, data: { url } };
  event.waitUntil(registration.showNotification(title, options));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});

async function open(path) {
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows.find((it) => new URL(it.url).pathname === path);
  if (!there) return clients.openWindow(path);
  const page = await there.focus();
  // Loaded anew it shows how the game stands, and counts as seen. A page that was open before
  // this worker began cannot be told to; it asks by itself.
  return page.navigate(path).catch(() => page);
}
