import { pollUntil } from '#platform/jobs/polling.ts';
import { selectClaims } from './rows.ts';

/** Waits, outside any transaction, until a claim is confirmed, claimed or failed. What was confirmed may still vanish: then the wait goes on. */
export const outcomeOf = pollUntil(
  (app, ids) => app.db.query(selectClaims, [ids]),
  ({ state }) => state !== 'queued' && state !== 'submitted',
);
