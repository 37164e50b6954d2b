/** The door of burns: burn events, and the burns that the chain knows. */
export { endBurnEvents, watchBurns } from './watch.ts';
