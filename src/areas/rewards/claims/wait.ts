import { pollUntil } from '#platform/jobs/polling.ts';
import { selectClaims } from './rows.ts';

/** Waits until a claim is confirmed, claimed or failed. Precondition: the caller has no open transaction. */
export const awaitClaim = pollUntil(
  (app, ids) => app.db.query(selectClaims, [ids]),
  ({ state }) => state !== 'queued' && state !== 'submitted',
);
