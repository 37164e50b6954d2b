import { followEpochs } from '#jobs/chain.ts';
import type { App } from '#platform/app.ts';
import { closeEpoch, closePage, decodeEpoch, decodePage, type EpochAccount, pageAddress, settleEpoch } from '#platform/solana/distributor/index.ts';
import type { Draft, Outcome, TransactionType } from '#platform/solana/submission/transactions.ts';
import { readAccounts } from './accounts.ts';
import { type Place, placeOf, selectPlace } from './epoch-accounts.ts';
import { SETTLE } from './settlement.ts';

/** How long until what cannot be signed is looked at again, ms. */
const SOON_MS = 1_000;
const HELD_MS = 30_000;

/** Names a page of an epoch as a subject. */
export const pageSubject = (epoch: number, page: number): string => `${epoch}:${page}`;

interface Found {
  readonly place: Place;
  /** What is final, and what is confirmed. */
  readonly final: EpochAccount | null;
  readonly account: EpochAccount | null;
  readonly state: string;
  readonly opened: boolean;
}

async function find(app: App, epoch: number): Promise<Found | null> {
  const row = (await app.db.query(selectPlace, [epoch]))[0];
  if (!row) return null;
  const place = placeOf(row);
  const [final, confirmed] = await Promise.all([readAccounts(app, 'finalized', [place.account]), readAccounts(app, 'confirmed', [place.account])]);
  const decode = ({ accounts }: typeof final) => decodeEpoch(place.program, accounts[0] ?? null);
  return { place, final: decode(final), account: decode(confirmed), state: row.state, opened: row.opened };
}

const wait = (reason: string, ms = SOON_MS): Outcome => ({ do: 'wait', ms, reason });
const done: Outcome = { do: 'done', signature: null, slot: null };

/** What is refused now is told, and tried again: an end is not given up. */
const refused: TransactionType['refused'] = async (app, subject, error) => {
  app.log.warn({ subject, error }, 'the end of an epoch is refused by the chain');
  return wait(error.message, HELD_MS);
};

/** What may be left when an epoch ends: who signs what, and where it goes. */
function draft({ place }: Found, { vault, refund }: EpochAccount, by: typeof settleEpoch | typeof closeEpoch): Draft {
  const { program, account: epochAccount, authority } = place;
  const signers = by === settleEpoch ? (['epochAuthority'] as const) : [];
  return { do: 'sign', feePayer: 'feePayer', signers, instructions: [by({ program, epochAccount, authority, vault, refund })], spends: [] };
}

/** Ends an epoch before its time, for good: what is left of its vault goes back to the treasury. Follows a root that is on its way. */
export const epochSettle: TransactionType = {
  ...SETTLE,
  scope: 'roots',
  afterFailure: 'again',
  async compose(app, subject) {
    const found = await find(app, Number(subject));
    if (!found || (found.state === 'settled' && !found.opened)) return done;
    const { final, account, place } = found;
    if (final && final.state !== 'open') return done;
    if (!final || !account) return wait('the root is not final');
    if (account.state !== 'open') return wait('the settlement is not final');
    if (!app.chain.key('epochAuthority').publicKey.equals(place.authority)) {
      return { do: 'manual', reason: `only ${place.authority.toBase58()} can settle this epoch, and that is not the key of epochAuthority` };
    }
    return draft(found, account, settleEpoch);
  },
  refused,
  // Its books are closed by whoever follows the epochs: what was claimed until now has to be known first.
  finalized: async (tx) => tx.enqueue(followEpochs, {}),
  failed: async () => undefined,
};

/** Ends an epoch that is expired or settled: what is left goes back to the treasury, and its vault is closed. */
export const epochClose: TransactionType = {
  name: 'epoch-close',
  scope: 'roots',
  afterFailure: 'again',
  async compose(app, subject) {
    const found = await find(app, Number(subject));
    if (!found) return done;
    const { final, account } = found;
    if (final?.state === 'closed') return done;
    if (!final || !account) return wait('the root is not final');
    if (account.state === 'closed') return wait('the end is not final');
    return draft(found, account, closeEpoch);
  },
  refused,
  finalized: async (tx) => tx.enqueue(followEpochs, {}),
  failed: async () => undefined,
};

/** Takes a page of a closed epoch back. A subject is `<epoch>:<page>`. */
export const epochPageClose: TransactionType = {
  name: 'epoch-page-close',
  scope: 'roots',
  afterFailure: 'again',
  async compose(app, subject) {
    const [epoch = 0, page = 0] = subject.split(':').map(Number);
    const row = (await app.db.query(selectPlace, [epoch]))[0];
    if (!row) return done;
    const { program, account: epochAccount, authority } = placeOf(row);
    const address = pageAddress(program, epochAccount, page);
    const { accounts } = await readAccounts(app, 'finalized', [epochAccount, address]);
    const account = decodeEpoch(program, accounts[0] ?? null);
    if (account?.state !== 'closed') return wait('the end is not final');
    // There is none before the first claim that needs it, and none after this.
    if (!decodePage(program, accounts[1] ?? null)) return done;
    return { do: 'sign', feePayer: 'feePayer', instructions: [closePage({ program, epochAccount, authority, page })], spends: [] };
  },
  refused,
  finalized: async () => undefined,
  failed: async () => undefined,
};
