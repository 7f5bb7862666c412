// Timers. The host is asked for one wake-up, at the time of the earliest timer.
const timers = new OwnMap(); // id -> {at, every, callback, args, section}
let timerCount = 0, wakeAt = -1;

// performance: milliseconds since the start of the instance, on a clock that never goes back. What the engine counts from is in the
// image that the instance was made from.
const enginePerformance = performance, engineNow = performance.now;
let clockBase = -1, clockOrigin = 0;
const beginClock = () => {
  if (clockBase >= 0) return;
  clockBase = apply(engineNow, enginePerformance, []);
  clockOrigin = now();
};
const performanceNow = () => {
  beginClock();
  return apply(engineNow, enginePerformance, []) - clockBase;
};
const performanceObject = {
  get timeOrigin() { beginClock(); return clockOrigin; },
  now: performanceNow,
  toJSON: () => ({ timeOrigin: performanceObject.timeOrigin }),
};

const addTimer = (callback, ms, args, repeat) => {
  if (typeof callback !== "function") throw new TypeErrorClass("the callback of a timer must be a function");
  ms = +ms;
  ms = ms > 0 ? (ms < 2 ** 31 ? ms : 2 ** 31 - 1) : 0;
  const id = ++timerCount, at = now() + ms;
  timers.set(id, { at, every: repeat ? (ms < 4 ? 4 : ms) : -1, callback, args, section, always: false });
  if (wakeAt < 0 || at < wakeAt) hostWake(wakeAt = at);
  return id;
};

// clearTimer leaves the wake-up of a cleared timer, which does no harm, unless it was the last timer.
const clearTimer = (id) => {
  if (timers.delete(id) && timers.size === 0 && !somethingWaits()) hostWake(wakeAt = -1);
};

const mayFire = (timer) => timer.always || openOne(timer.section) === innermost;

// runTimers runs what comes first, the timer that is due first or what waits (sections.js), and asks to be called again at once
// if there is more: what an event leaves to do (microtasks, writes) is done before the next one runs.
const runTimers = () => {
  const time = now();
  let first = null, firstId = 0;
  apply(mapEach, timers, [(timer, id) => {
    if (timer.at <= time && (first === null || timer.at < first.at) && mayFire(timer)) { first = timer; firstId = id; }
  }]);
  const { children, outcome, waiting } = innermost;
  if (first !== null && (first.always || (children.length === 0 && outcome === null && (waiting.length === 0 || first.at <= waiting[0].at)))) fire(first, firstId, time);
  else runWaiting();
  resetWake();
};

const fire = (timer, id, time) => {
  section = innermost;
  timers.delete(id);
  if (timer.every >= 0) {
    timer.at = time + timer.every;
    timers.set(id, timer); // those of the same time come in the order in which they were set
  }
  try { apply(timer.callback, undefined, timer.args); } catch (thrown) { logFailure("a timer failed", thrown); }
};

// resetWake asks for the next wake-up again after the host has given one, or has cut the timers off.
const resetWake = () => {
  wakeAt = somethingWaits() ? 0 : -1;
  if (wakeAt < 0) apply(mapEach, timers, [(timer) => { if ((wakeAt < 0 || timer.at < wakeAt) && mayFire(timer)) wakeAt = timer.at; }]);
  if (wakeAt >= 0) hostWake(wakeAt);
};
