/** The door of burns: burn events, and the burns that the chain knows. */
export { endBurnEvents } from './life.ts';
export { readActive, readEvent } from './rows.ts';
export { BurnPath } from './schema.ts';
export { watchBurns } from './watch.ts';
