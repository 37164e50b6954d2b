import { createRequire, flushCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { takeCoverage } from 'node:v8';
import JestRuntime from 'jest-runtime';
import { setGlobals } from './native-globals.js';

const require = createRequire(import.meta.url);
const GLOBALS = import.meta.resolve('./native-globals.js');

registerHooks({
  resolve: (specifier, context, next) => (specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context)),
});

/**
 * Imports test files with Node's own module loader, not with a virtual machine per file. A process loads and compiles each module once
 * for all of its test files; with a virtual machine, each file would load the whole service, which takes longer than most tests. Modules
 * are also loaded as in production. Test files share module state, so a module may hold only state of the process; state of an
 * application belongs to its `App`.
 */
export default class NativeRuntime extends JestRuntime {
  /** Loads a module of Jest itself. The test framework is loaded again for each file, because its state belongs to one file. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(path);
  }

  setGlobalsForRuntime(globals) {
    setGlobals({ ...globals, jest: this._environment.moduleMocker });
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    await import(pathToFileURL(path).href);
  }

  teardown() {
    super.teardown();
    // Writes the compile cache now, so that processes which the tests start can use it, and because Jest gives workers little time to exit.
    flushCompileCache();
    // Writes the coverage of this file for the same reason. Does nothing without NODE_V8_COVERAGE.
    takeCoverage();
  }
}
