/** The door of burns: burn events, and the burns that the chain knows. */
export { endBurnEvents } from './lifecycle.ts';
export { readActive, readEvent } from './rows.ts';
export { BurnPath } from './schemas.ts';
export { ingestBurns } from './watch.ts';
