import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { retry, submit } from '#platform/solana/submission/transactions.ts';
import { epochClose, epochPageClose, epochSettle } from './end.ts';
import { epochRoot } from './root.ts';

/** Epochs that one run ends. */
const MOST = 100;

const expire = statement<{ epoch: number }>(
  'expire_epochs',
  `update epochs set state = 'expired' where epoch = any(array(
     select epoch from epochs where state = 'committed' and expires_at <= app_now() order by epoch limit ${MOST} for update skip locked))
   returning epoch`,
);

// Of what was given up, what still has to happen; some time after, because somebody may have to put something right first.
const givenUp = statement<{ kind: string; subject: string }>(
  'select_given_up_epoch_transactions',
  `select t.kind, t.subject from chain_transactions t
   where t.state = 'failed' and t.changed_at < app_now() - interval '10 minutes' and t.kind = any($1::text[])
     and (t.kind <> $2 or exists (select 1 from epochs e where e.epoch::text = t.subject and e.state = 'computed' and e.settle_requested_at is null))
   order by t.changed_at limit ${MOST}`,
);

/** Ends the epochs whose time is over: what is left of them goes back to the treasury. Roots and ends that were given up are tried again. */
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
  const rows = await app.db.query(givenUp, [kinds.map(({ name }) => name), epochRoot.name]);
  for (const [name, ofKind] of Map.groupBy(rows, ({ kind }) => kind)) {
    const subjects = ofKind.map(({ subject }) => subject);
    app.log.error({ kind: name, subjects }, 'what an epoch needs on the chain had been given up, and is tried again');
    await app.tx((tx) => retry(tx, { name }, subjects));
  }
}
