import { pollUntil } from '#platform/jobs/polling.ts';
import { selectClaims } from './rows.ts';

/** Waits, outside any transaction, until a claim is confirmed, claimed or failed. */
export const awaitClaim = pollUntil(
  (app, ids) => app.db.query(selectClaims, [ids]),
  ({ state }) => state !== 'queued' && state !== 'submitted',
);
