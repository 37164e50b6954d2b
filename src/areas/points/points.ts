/** The door of points: ledger, standings, activities and the boards in Redis. */
export { type Activity, appendActivities } from './activities.ts';
export { applyToBoard, boardKeys, type Neighbourhood, UNRANKED } from './boards.ts';
export { appendPoints, COUNTER_SHARDS, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
export { type Best, gameBoard, type Mode, raiseBests, readStandings, type StandingRow } from './standings.ts';
