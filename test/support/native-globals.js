/** Replaces `@jest/globals`. A shared module imports it only once, so each export forwards to the globals of the current test file. */
let current = {};

/** Sets the globals of the current test file. */
export function setGlobals(globals) {
  current = globals;
}

const live = (name) =>
  new Proxy(() => {}, {
    apply: (_target, _self, args) => current[name](...args),
    get: (_target, key) => current[name][key],
  });

export const afterAll = live('afterAll');
export const afterEach = live('afterEach');
export const beforeAll = live('beforeAll');
export const beforeEach = live('beforeEach');
export const describe = live('describe');
export const expect = live('expect');
export const it = live('it');
export const test = live('test');
/** Only spies are supported; modules cannot be mocked. */
export const jest = { spyOn: (object, name, access) => current.jest.spyOn(object, name, access) };
