import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { rpc } from '#platform/solana/solana.ts';
import { readFound } from './found-burns.ts';
import { fillGaps, listNewest } from './history.ts';

const selectWatched = statement<{ mint: string; ended: boolean }>(
  'select_watched_mints',
  `select mint, bool_or(state = 'ended') as ended from burn_events where state <> 'pending' and final_at is null group by mint order by mint`,
);
/**
 * An event is final when the chain has been listed to some minutes after its end and all that was found is read. After a week it is so in
 * any case: what a node has lost for so long does not come back.
 */
const finish = statement<{ id: string; whole: boolean }>(
  'finish_burn_events',
  `with done as (
     select id, ends_at + interval '5 minutes' <= $2::timestamptz and not exists (select from burn_gaps g where g.mint = e.mint)
       and not exists (select from burn_transactions f where f.mint = e.mint and f.read_at is null and (f.block_time is null or f.block_time < e.ends_at)) as whole
     from burn_events e where e.mint = $1 and e.state = 'ended' and e.final_at is null for no key update)
   update burn_events e set final_at = app_now() from done
   where e.id = done.id and (done.whole or e.ends_at + interval '7 days' <= app_now()) returning e.id::text, done.whole`,
);
const forget = statement(
  'forget_burn_transactions',
  `delete from burn_transactions where signature = any(array(
     select signature from burn_transactions where read_at < app_now() - interval '1 day' order by read_at limit 1000 for update skip locked))`,
);
const oldest = statement<{ old: boolean }>(
  'oldest_read_burn_transaction',
  `select read_at < app_now() - interval '1 day' as old from burn_transactions where read_at is not null order by read_at limit 1`,
);

const running = new WeakSet<App>();

/**
 * Reads the burns that have become final on the chain, while there are events that wait for them, and credits them. Nothing is lost or
 * credited twice whenever this ends, and however many do it at once; in one process they take turns.
 */
export async function ingestBurns(app: App): Promise<void> {
  if (running.has(app)) return;
  running.add(app);
  try {
    for (const { mint, ended } of await app.db.query(selectWatched)) await watch(app, mint, ended);
    if ((await app.db.query(oldest))[0]?.old) await app.tx((tx) => tx.query(forget));
  } finally {
    running.delete(app);
  }
}

/** @param ended whether an event waits for being final */
async function watch(app: App, mint: string, ended: boolean): Promise<void> {
  const { connection } = app.chain;
  let known = { slot: 0, at: 0 };
  const look = async () => {
    const slot = await rpc(() => connection.getSlot('finalized'));
    known = { slot, at: (await rpc(() => connection.getBlockTime(slot))) ?? 0 };
  };
  const steps = [() => listNewest(app, mint, known.slot), () => fillGaps(app, mint), () => readFound(app, mint)];
  const failures: unknown[] = [];
  // A node that cannot list may still be able to read.
  for (const step of ended ? [look, ...steps] : steps) await step().catch((error: unknown) => failures.push(error));
  if (ended) await conclude(app, mint, failures.length > 0 ? 0 : known.at);
  if (failures.length > 0) throw failures[0];
}

/** Makes events final. @param at up to when the chain is read, seconds since 1970 */
async function conclude(app: App, mint: string, at: number): Promise<void> {
  for (const { id, whole } of await app.tx((tx) => tx.query(finish, [mint, new Date(at * 1_000).toISOString()]))) {
    if (!whole) app.log.error({ burnEvent: id }, 'burns of an event may be missing: the chain could not be read to its end');
  }
}
