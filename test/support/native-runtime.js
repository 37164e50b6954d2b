import { createRequire, flushCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import JestRuntime from 'jest-runtime';
import { becomeGlobals } from './native-globals.js';

const require = createRequire(import.meta.url);
const GLOBALS = import.meta.resolve('./native-globals.js');

registerHooks({
  resolve: (specifier, context, next) => (specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context)),
});

/**
 * Has jest import tests as Node does, not into a virtual machine per file. A process loads and compiles each module once for all
 * the files that it runs; in a machine of its own each file would load the whole service for itself, which takes longer than most
 * tests. It is also the way in which the service's modules are loaded in production. Files share what modules hold, so nothing may
 * be kept there but what belongs to the process; what belongs to an application is kept by its `App`.
 */
export default class NativeRuntime extends JestRuntime {
  /** Jest's own modules: the framework anew for each file, for its state is that of one file. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(path);
  }

  setGlobalsForRuntime(globals) {
    becomeGlobals({ ...globals, jest: this._environment.moduleMocker });
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    await import(pathToFileURL(path).href);
  }

  teardown() {
    super.teardown();
    // Not left to the end of the process: other processes that the tests start profit, and jest gives workers little time to end.
    flushCompileCache();
  }
}
