/** What stands for `@jest/globals`. Modules that several test files share import it once, so it leads to those of the file that runs. */
let current = {};

/** @param globals those of the file that runs next */
export function becomeGlobals(globals) {
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
/** Spies. Nothing replaces a module. */
export const jest = { spyOn: (object, name, access) => current.jest.spyOn(object, name, access) };
