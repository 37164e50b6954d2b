import { TestEnvironment } from 'jest-environment-node';
import { PATIENCE } from './patience.ts';

/** Gives each test and each hook `PATIENCE` times the time that it asks for. */
export default class PatientEnvironment extends TestEnvironment {
  handleTestEvent({ name, test, hook }) {
    if (name === 'test_start' && test.timeout !== undefined) test.timeout *= PATIENCE;
    if (name === 'hook_start' && hook.timeout !== undefined && !this.#extended.has(hook)) {
      // A hook of each test starts many times.
      this.#extended.add(hook);
      hook.timeout *= PATIENCE;
    }
  }

  #extended = new WeakSet();
}
