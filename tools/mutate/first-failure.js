import { writeSync } from 'node:fs';

/**
 * Prints each test file that passed. Ends the test run at the first failed test, and prints the name of this test and its message. Jest itself ends a
 * run only after the file of the failed test.
 */
export default class FirstFailure {
  onTestCaseResult(test, { status, fullName, failureMessages }) {
    if (status === 'failed') this.#end(test, fullName, failureMessages);
  }

  onTestResult(test, { numFailingTests, testExecError, testResults, failureMessage }) {
    if (testExecError) this.#end(test, 'the file could not be loaded', [failureMessage]);
    if (numFailingTests > 0) this.#end(test, testResults.find(({ status }) => status === 'failed')?.fullName ?? '', [failureMessage]);
    writeSync(1, `PASSED ${test.path}\n`);
  }

  #end({ path }, name, messages) {
    const lines = messages.map((message) => `${message}`.replace(/^\s+at .*$/gm, '')).join('\n');
    writeSync(1, `FAILED ${path}: ${name}\n${lines}\n`);
    process.exit(1);
  }
}
