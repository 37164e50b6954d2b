import { writeSync } from 'node:fs';

/** Ends the test run at the first failed test, and prints the name of this test. Jest itself ends a run only after the file of the failed test. */
export default class FirstFailure {
  onTestCaseResult(test, { status, fullName }) {
    if (status === 'failed') this.#end(test, fullName);
  }

  onTestResult(test, { numFailingTests, testExecError, testResults }) {
    if (testExecError) this.#end(test, 'the file could not be loaded');
    if (numFailingTests > 0) this.#end(test, testResults.find(({ status }) => status === 'failed')?.fullName ?? '');
  }

  #end({ path }, name) {
    writeSync(1, `FAILED ${path}: ${name}\n`);
    process.exit(1);
  }
}
