// Timers. The host is asked for one wake-up, at the time of the earliest timer.
const timers = new OwnMap(); // id -> {at, every, callback, args}
let timerCount = 0, wakeAt = -1;

const addTimer = (callback, ms, args, repeat) => {
  if (typeof callback !== "function") throw new TypeErrorClass("the callback of a timer must be a function");
  ms = +ms;
  ms = ms > 0 ? (ms < 2 ** 31 ? ms : 2 ** 31 - 1) : 0;
  const id = ++timerCount, at = now() + ms;
  timers.set(id, { at, every: repeat ? (ms < 4 ? 4 : ms) : -1, callback, args });
  if (wakeAt < 0 || at < wakeAt) hostWake(wakeAt = at);
  return id;
};

// clearTimer leaves the wake-up of a cleared timer, which does no harm, unless it was the last timer.
const clearTimer = (id) => {
  if (timers.delete(id) && timers.size === 0) hostWake(wakeAt = -1);
};

// runTimers runs the timer that is due first, and asks to be called again at once if more are: what a timer leaves to do
// (microtasks, writes) is done before the next one runs.
const runTimers = () => {
  const time = now();
  let first = null, firstId = 0;
  apply(mapEach, timers, [(timer, id) => {
    if (timer.at <= time && (first === null || timer.at < first.at) && !holdsTimer(id, timer)) { first = timer; firstId = id; }
  }]);
  if (first !== null) {
    if (first.every < 0) timers.delete(firstId);
    else {
      first.at = time + first.every;
      timers.delete(firstId); // those of the same time come in the order in which they were set
      timers.set(firstId, first);
    }
    try { apply(first.callback, undefined, first.args); } catch (thrown) { logFailure("a timer failed", thrown); }
  }
  resetWake();
};

// resetWake asks for the next wake-up again after the host has given one, or has cut the timers off.
const resetWake = () => {
  wakeAt = -1;
  apply(mapEach, timers, [(timer, id) => { if ((wakeAt < 0 || timer.at < wakeAt) && !holdsTimer(id, timer)) wakeAt = timer.at; }]);
  if (wakeAt >= 0) hostWake(wakeAt);
};
