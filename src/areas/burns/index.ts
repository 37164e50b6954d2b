/** The public API of burns: burn events, and the job that credits burns from the chain. */

export { ingestBurns } from './ingest.ts';
export { endBurnEvents } from './lifecycle.ts';
export { readActiveEvent, readEvent } from './rows.ts';
export { BurnPath } from './schemas.ts';
