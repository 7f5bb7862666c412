package overseer

// What the tests outside of the package start their children with.
const TestBuild = testBuild

var TestCache = engineCache
