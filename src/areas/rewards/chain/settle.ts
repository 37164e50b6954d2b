import { followEpochs } from '#jobs/chain.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { EpochAccount } from '#platform/solana/distributor/index.ts';
import { settleEpoch } from '#platform/solana/distributor/index.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { type ComposeOutcome, submissionStatuses, type TransactionDraft, type TransactionType } from '#platform/solana/submission/index.ts';
import { adoptAccount } from './adopt.ts';
import { candidateAddresses, type FoundAccount, readCandidates } from './candidates.ts';
import { ENDS_SCOPE, endingDraft, refused, wait } from './end.ts';
import { heightAfterEarlier } from './heights.ts';
import { epochRoot } from './root.ts';
import { epochOfSubject, otherRootSentence, SETTLE, settleUnopened } from './settlement.ts';

/** Delay before a retry while only an operator can decide, ms. */
const OPERATOR_RETRY_MS = 5_000;

const done: ComposeOutcome = { do: 'done', signature: null, slot: null };

/** An epoch with a settlement request. `onChain` is the root of its account if this root differs from `root`. Roots are hex. */
interface Settling {
  state: string;
  root: string | null;
  onChain: string | null;
  accepted: string | null;
  afterHeight: number | null;
  opened: boolean;
}
const selectSettling = statement<Settling>(
  'select_settling_epoch',
  `select e.state, encode(e.root, 'hex') as root, encode(a.other_root, 'hex') as "onChain", encode(e.settle_root, 'hex') as accepted,
     e.settle_after_height::float8 as "afterHeight", a.opened_at is not null as opened
   from epochs e left join epoch_accounts a on a.epoch = e.epoch where e.epoch = $1`,
);
const storeHeight = statement(
  'store_settlement_height',
  'update epochs set settle_after_height = $2::int8 where epoch = $1 and settle_after_height is null',
);

/**
 * The transaction type that settles an epoch off-chain. If the epoch has an account on the chain, settles this account: the unclaimed tokens in the
 * vault return to the treasury. Otherwise waits until no transaction that was signed before the request can create the account, and sends nothing.
 */
export const epochSettle: TransactionType = {
  ...SETTLE,
  scope: ENDS_SCOPE,
  afterFailure: 'again',
  compose,
  simulationFailed: refused,
  // An epoch with an account is not settled in the database here. `followEpochs` settles it after it has stored all claims of the epoch.
  async finalized(tx, landings) {
    await settleUnopened(
      tx,
      landings.map(({ subject }) => epochOfSubject(subject)),
    );
    tx.enqueue(followEpochs, {});
  },
  failed: async () => undefined,
};

async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const epoch = epochOfSubject(subject);
  const [row] = await app.db.query(selectSettling, [epoch]);
  if (!row || (row.state === 'settled' && subject === String(epoch))) return done;
  if (row.state === 'computing') return wait('the epoch is being computed');
  const final = await readFinal(app, epoch);
  if (final) return await settleAccount(app, row, final);
  if ((await readCandidates(app, 'confirmed', [epoch])).length > 0) return wait('the root is not finalized yet');
  if (row.opened) return wait('the account of the epoch does not exist on the chain', OPERATOR_RETRY_MS);
  return await waitForEarlier(app, epoch, row.afterHeight);
}

/** Returns the finalized account of an epoch; null when there is none. An open account comes before one that is settled or closed. */
async function readFinal(app: App, epoch: number): Promise<FoundAccount | null> {
  const found = await readCandidates(app, 'finalized', [epoch]);
  return found.find(({ account }) => account.state === 'open') ?? found[0] ?? null;
}

/** Stores an account that the database does not have, then settles the account if it is open. */
async function settleAccount(app: App, row: Settling, { addresses, account }: FoundAccount): Promise<TransactionDraft | ComposeOutcome> {
  const { epoch } = addresses;
  const root = account.root.toString('hex');
  if (account.state === 'open' && ![row.root, row.onChain, row.accepted].includes(root)) {
    const reason = otherRootSentence(epoch, root);
    app.log.error(
      { epoch, root },
      'an epoch that is to be settled is open on the chain with another root; it waits until an operator names this root',
    );
    return wait(reason, OPERATOR_RETRY_MS);
  }
  if (!row.opened) await adoptAccount(app, addresses, account);
  if (account.state !== 'open') return done;
  const confirmed = (await readCandidates(app, 'confirmed', [epoch])).find((one) => one.addresses.account.equals(addresses.account));
  if (confirmed?.account.state !== 'open') return wait('the settlement is not finalized yet');
  if (!app.chain.key('epochAuthority').publicKey.equals(addresses.authority)) {
    return { do: 'manual', reason: `only the key ${addresses.authority.toBase58()} can settle this epoch, but epochAuthority is another key` };
  }
  return endingDraft(addresses, account as EpochAccount, settleEpoch);
}

/**
 * Returns `done` when no transaction that was signed before the settlement request can create an account of the epoch any more. Precondition: no
 * candidate address of the epoch has an account.
 */
async function waitForEarlier(app: App, epoch: number, afterHeight: number | null): Promise<ComposeOutcome> {
  if (afterHeight === null) {
    const height = await heightAfterEarlier(app);
    await app.tx((tx) => tx.query(storeHeight, [epoch, height]));
    return wait('the height after which the epoch is settled was not known yet');
  }
  const [root] = await submissionStatuses(app.db, epochRoot, [String(epoch)]);
  if (root?.live) return wait('the root transaction of the epoch is in flight');
  const nodes = [app.chain.node, ...(app.chain.second ? [app.chain.second] : [])];
  for (const node of nodes) {
    const { slot, height } = await node.finalizedHeight();
    if (height <= afterHeight)
      return wait(`a transaction that was signed earlier can land until block ${afterHeight}; the finalized block is ${height}`);
    if (await hasAccount(app, node, epoch, slot)) return wait('the root is not finalized on every RPC node yet');
  }
  return done;
}

/** Returns whether an epoch has a finalized account at one of its candidate addresses, at a slot that is not before `slot`. */
async function hasAccount(app: App, node: RpcNode, epoch: number, slot: number): Promise<boolean> {
  const addresses = (await candidateAddresses(app, [epoch])).get(epoch) ?? [];
  const read = await node.accounts(
    addresses.map(({ account }) => account),
    'finalized',
    slot,
  );
  return read.slot < slot || read.accounts.some((account) => account !== null && account.data.length > 0);
}
