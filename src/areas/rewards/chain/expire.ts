import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { retry, submit } from '#platform/solana/submission/index.ts';
import { epochClose, epochPageClose } from './end.ts';
import { epochRoot } from './root.ts';
import { epochSettle } from './settle.ts';

/** Maximum epochs that one run expires, and maximum failed transactions that one run retries. */
const MAX_PER_RUN = 100;

const expire = statement<{ epoch: number }>(
  'expire_epochs',
  `update epochs set state = 'expired' where epoch = any(array(
     select epoch from epochs where state = 'committed' and expires_at <= (select app_now()) order by epoch limit ${MAX_PER_RUN} for update skip locked))
   returning epoch`,
);

// Selects transactions that failed at least 10 minutes ago, so that an operator has 10 minutes to correct the cause before the retry.
const selectFailed = statement<{ kind: string; subject: string }>(
  'select_failed_epoch_transactions',
  `select t.kind, t.subject from chain_transactions t
   where t.state = 'failed' and t.changed_at < (select app_now()) - interval '10 minutes' and t.kind = any($1::text[])
     and (t.kind <> $2 or exists (select 1 from epochs e where e.epoch::text = t.subject and e.state = 'computed' and e.settle_requested_at is null))
   order by t.changed_at limit ${MAX_PER_RUN}`,
);

/**
 * Sets committed epochs to `expired` after their expiry time, and submits the transactions that close their accounts. These transactions return the
 * unclaimed tokens to the treasury. Then retries failed transactions of epochs.
 */
export async function expireEpochs(app: App): Promise<void> {
  await app.tx(async (tx) => {
    const epochs = await tx.query(expire);
    await submit(
      tx,
      epochClose,
      epochs.map(({ epoch }) => String(epoch)),
    );
  });
  const kinds = [epochRoot, epochSettle, epochClose, epochPageClose];
  const rows = await app.db.query(selectFailed, [kinds.map(({ name }) => name), epochRoot.name]);
  for (const [name, ofKind] of Map.groupBy(rows, ({ kind }) => kind)) {
    const subjects = ofKind.map(({ subject }) => subject);
    app.log.error({ kind: name, subjects }, 'transactions of epochs have failed; these transactions are retried');
    await app.tx((tx) => retry(tx, { name }, subjects));
  }
}
