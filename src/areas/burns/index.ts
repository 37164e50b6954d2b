/** The public API of burns: burn events, and the job that credits burns from the chain. */

export { ingestBurns, WATCHED_BURNS } from './ingest.ts';
export { endBurnEvents } from './lifecycle.ts';
export { readActiveEvent, readEvent } from './rows.ts';
export { BurnPath } from './schemas.ts';
