import { followEpochs } from '#jobs/chain.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { closeEpoch, closePage, decodeEpoch, decodePage, type EpochAccount, pageAddress, settleEpoch } from '#platform/solana/distributor/index.ts';
import type { ComposeOutcome, TransactionDraft, TransactionType } from '#platform/solana/submission/index.ts';
import { readAccounts } from './accounts.ts';
import { addressesOf, type EpochAddresses, selectEpochAddresses } from './epoch-accounts.ts';

/**
 * Pause scope of the transactions that end an epoch. It differs from the scope of roots, because an epoch with a wrong root must be settled while roots
 * are paused.
 */
export const ENDS_SCOPE = 'epoch-ends';
/** Delay before a retry when the chain state is not finalized yet, ms. */
const RETRY_MS = 1_000;
/** Delay before a retry when the simulation of the transaction failed, ms. */
const REFUSED_RETRY_MS = 30_000;

/** Returns the subject of the transaction that closes a bitmap page: `<epoch>:<page>`. */
export const pageSubject = (epoch: number, page: number): string => `${epoch}:${page}`;

interface EpochChainState {
  readonly addresses: EpochAddresses;
  /** Epoch account at the commitment `finalized`; null when the account does not exist. */
  readonly final: EpochAccount | null;
  /** Epoch account at the commitment `confirmed`; null when the account does not exist. */
  readonly account: EpochAccount | null;
}

async function readChainState(app: App, epoch: number): Promise<EpochChainState | null> {
  const [row] = await run(app.db, selectEpochAddresses(epoch));
  if (!row) return null;
  const addresses = addressesOf(row);
  const [final, confirmed] = await Promise.all([
    readAccounts(app, 'finalized', [addresses.account]),
    readAccounts(app, 'confirmed', [addresses.account]),
  ]);
  const decode = ({ accounts }: typeof final) => decodeEpoch(addresses.program, accounts[0] ?? null);
  return { addresses, final: decode(final), account: decode(confirmed) };
}

export const wait = (reason: string, ms = RETRY_MS): ComposeOutcome => ({ do: 'wait', ms, reason });
const done: ComposeOutcome = { do: 'done', signature: null, slot: null };

/** Logs the failed simulation and schedules a retry. There is no maximum number of retries, because each epoch must be settled or closed. */
export const refused: NonNullable<TransactionType['simulationFailed']> = async (app, subject, error) => {
  app.log.warn({ subject, error }, 'the simulation of settling or closing an epoch failed; the transaction is retried');
  return wait(error.message, REFUSED_RETRY_MS);
};

/** Builds a transaction that settles or closes an epoch. Only the instruction `settleEpoch` needs the signature of the epoch authority. */
export function endingDraft(
  { program, account: epochAccount, authority }: EpochAddresses,
  { vault, refund }: EpochAccount,
  by: typeof settleEpoch | typeof closeEpoch,
): TransactionDraft {
  const signers = by === settleEpoch ? (['epochAuthority'] as const) : [];
  return { do: 'sign', feePayer: 'feePayer', signers, instructions: [by({ program, epochAccount, authority, vault, refund })], spends: [] };
}

/** The transaction type that closes the account of an expired or settled epoch. The unclaimed tokens in the vault return to the treasury. */
export const epochClose: TransactionType = {
  name: 'epoch-close',
  scope: ENDS_SCOPE,
  priority: 'roots',
  afterFailure: 'again',
  async compose(app, subject) {
    const found = await readChainState(app, Number(subject));
    if (!found) return done;
    const { final, account } = found;
    if (final?.state === 'closed') return done;
    if (!final || !account) return wait('the root is not finalized yet');
    if (account.state === 'closed') return wait('the closing of the epoch is not finalized yet');
    return endingDraft(found.addresses, account, closeEpoch);
  },
  simulationFailed: refused,
  finalized: async (tx) => tx.enqueue(followEpochs, {}),
  failed: async () => undefined,
};

/** The transaction type that closes a bitmap page of a closed epoch and recovers the rent of the page. A subject is `<epoch>:<page>`. */
export const epochPageClose: TransactionType = {
  name: 'epoch-page-close',
  scope: ENDS_SCOPE,
  priority: 'roots',
  afterFailure: 'again',
  async compose(app, subject) {
    const [epoch = 0, page = 0] = subject.split(':').map(Number);
    const [row] = await run(app.db, selectEpochAddresses(epoch));
    if (!row) return done;
    const { program, account: epochAccount, authority } = addressesOf(row);
    const address = pageAddress(program, epochAccount, page);
    const { accounts } = await readAccounts(app, 'finalized', [epochAccount, address]);
    const account = decodeEpoch(program, accounts[0] ?? null);
    if (account?.state !== 'closed') return wait('the closing of the epoch is not finalized yet');
    // The bitmap page does not exist if no claim needed it, or if it was closed already.
    if (!decodePage(program, accounts[1] ?? null)) return done;
    return { do: 'sign', feePayer: 'feePayer', instructions: [closePage({ program, epochAccount, authority, page })], spends: [] };
  },
  simulationFailed: refused,
  finalized: async () => undefined,
  failed: async () => undefined,
};
