import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Deletes expired rows: idempotency keys, nonces, sessions, published events, webhook deliveries. */
export const purgeExpired = job({
  name: 'purge-expired',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'purge-expired',
});

/** Makes the partitions of the next months, closes old months of the ledger, and exports and detaches the oldest ones. */
export const keepHistory = job({
  name: 'keep-history',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'keep-history',
});

/** Updates the statistics of partitions that grow fast from few rows, so that PostgreSQL reads a new month by its indexes. */
export const analyzePartitions = job({
  name: 'analyze-partitions',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'analyze-partitions',
});

/** Closes the UTC day, week, month or year that has ended, and stores the final ranks of its leaderboards. */
export const closePeriods = job({
  name: 'close-periods',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'close-periods',
});

/** Enqueues applyBan again for banned wallets whose held scores are not all rejected yet. */
export const sweepBans = job({
  name: 'sweep-bans',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'sweep-bans',
});

/** Creates the reward epochs of days that have ended, and enqueues computeEpoch again for epochs that are not computed yet. */
export const sweepEpochs = job({
  name: 'sweep-epochs',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'sweep-epochs',
});

/** Computes the expected rewards of the current UTC day from its points, if points were added since the last run. */
export const projectDay = job({
  name: 'project-day',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'project-day',
});

/** Closes reward epochs that have expired, and retries failed transactions that publish, settle or close an epoch. */
export const expireEpochs = job({
  name: 'expire-epochs',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'expire-epochs',
});

/** Sends the rents of closed reward epochs, which came back to the epoch authority, to the fee payer, at most once per UTC day. */
export const sweepRents = job({
  name: 'sweep-rents',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'sweep-rents',
});

/** Checks again that the names that wallets chose resolve to these wallets. */
export const checkNames = job({
  name: 'check-names',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'check-names',
});

/** Applies the scheduled changes of the theme, and broadcasts the scheduled one-time events, whose start has come. */
export const beginScheduled = job({
  name: 'begin-scheduled',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'begin-scheduled',
});

/** Deletes media files that no clip refers to. */
export const sweepClips = job({
  name: 'sweep-clips',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'sweep-clips',
});

/** Deletes the accounts whose wallets requested it. */
export const deleteAccounts = job({
  name: 'delete-accounts',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'delete-accounts',
});

/** Loads the list of wallets that may not buy tickets. */
export const refreshDenyList = job({
  name: 'refresh-deny-list',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'refresh-deny-list',
});
