import Sequencer from '@jest/test-sequencer';

/** Runs test files in the order of the variable TEST_ORDER, a JSON list of paths. */
export default class GivenOrder extends Sequencer {
  sort(tests) {
    const order = JSON.parse(process.env.TEST_ORDER ?? '[]');
    return [...tests].sort((a, b) => order.indexOf(a.path) - order.indexOf(b.path));
  }
}
