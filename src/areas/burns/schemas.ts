import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Count, Id, Instant, line } from '#lib/scalars.ts';

/** Sources that the memo of a burn may name. */
export const BURN_SOURCES = ['referral', 'game', 'social'] as const;
export type BurnSource = (typeof BURN_SOURCES)[number];

/** Why the memos of a transaction do not name a burn event: no memo begins with `burn:`, several do, or the one that does is malformed. */
export const MEMO_FAULTS = ['no-memo', 'several-memos', 'invalid-memo'] as const;
export type MemoFault = (typeof MEMO_FAULTS)[number];

/** Reasons why a burn is not credited. The schema `RefusedBurn` describes them. */
export const REFUSALS = [...MEMO_FAULTS, 'unknown-event', 'other-token', 'not-started', 'ended', 'too-late', 'not-owner'] as const;
export type Refusal = (typeof REFUSALS)[number];

/** The leaderboards of an event: `total` for all burns, and one per source. */
export type BurnBoard = 'total' | BurnSource;

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
// Schema of an address in a response: a plain string, because the address was validated before it was stored.
const wallet = (description: string) => z.string().meta({ description, example: WALLET });
const units = (description: string, example = '5000000') => z.string().meta({ description: `${description}, base units.`, example });

/** Path parameter with an event's id. */
export const BurnPath = z.object({ id: Id.meta({ description: 'Id of the burn event.', example: ID }) });

const terms = {
  title: line(120).meta({ example: 'The great bonfire' }),
  description: line(1_000).optional().meta({ example: 'Burn what you won, and be first.' }),
  durationSec: z.int().min(3_600).max(2_592_000).meta({ description: 'Duration from the activation, seconds.', example: 86_400 }),
};

/** The request body that creates a burn event. */
export const BurnEventTerms = z.strictObject(terms).meta({ id: 'BurnEventTerms' });
export type BurnEventTerms = z.output<typeof BurnEventTerms>;

const memo = (source: BurnSource) => z.string().meta({ example: `burn:${ID}:${source}` });
const BySource = z
  .strictObject({
    referral: units('Burns of referred wallets'),
    game: units('Burns of wallets that played in the 24 hours before', '0'),
    social: units('Burns of wallets with a linked account', '0'),
  })
  .meta({ id: 'BurnedBySource', description: 'Burned amounts per source. Only burns whose source was valid at the time of the burn are included.' });

export const BurnEventView = z
  .strictObject({
    id: Id,
    title: terms.title,
    description: z.string().nullable().meta({ example: 'Burn what you won, and be first.' }),
    status: z.enum(['pending', 'active', 'ended']),
    mint: z.string().meta({ description: 'Mint of the burned token.', example: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T' }),
    durationSec: terms.durationSec,
    memos: z.strictObject({ referral: memo('referral'), game: memo('game'), social: memo('social') }).meta({
      description:
        'Memo that the burn transaction must contain, by source. A transaction that contains none of these memos, or several, does not count.',
    }),
    createdBy: wallet('Wallet that created the event.'),
    createdAt: Instant,
    activatedAt: Instant.nullable().meta({
      description: 'Burns in blocks from this time on count. It is some seconds before the activation, because the chain’s clock may be behind.',
    }),
    endsAt: Instant.nullable().meta({ description: 'Burns in blocks before this time count.' }),
    final: z
      .boolean()
      .meta({ description: 'Whether the event has ended and all its burns are recorded, so that the totals do not change any more.' }),
    participants: Count.meta({ description: 'Wallets with at least one burn.', example: 120 }),
    burnTotal: units('Total burned amount', '7000000'),
    bySource: BySource,
  })
  .meta({ id: 'BurnEvent' });
export type BurnEventView = z.output<typeof BurnEventView>;

export const BurnBoardQuery = PageQuery.extend({
  around: z
    .literal('me', 'must be me')
    .optional()
    .meta({ description: 'Centres the page on the caller and ignores offset. A caller that is not listed gets the first page.' }),
});
export type BurnBoardQuery = z.output<typeof BurnBoardQuery>;

const rank = Count.min(1).meta({
  description: 'Competition rank: wallets with equal amounts share a rank, and the following ranks are skipped.',
  example: 3,
});

export const BurnStanding = z
  .strictObject({ rank, wallet: wallet('Address of the wallet.'), amount: units('Burned amount') })
  .meta({ id: 'BurnStanding' });
export type BurnStanding = z.output<typeof BurnStanding>;

/** A wallet's rank in a burn event. */
export const BurnRank = z
  .strictObject({
    rank: rank.nullable().meta({ description: 'Rank by the total burned amount; null for a wallet that burned nothing.' }),
    burned: units('Amount burned by the caller'),
    percentile: z
      .number()
      .nullable()
      .meta({ description: 'Share of the participants with the same or a lower rank, percent; null without a rank.', example: 98.5 }),
    bySource: BySource,
  })
  .meta({ id: 'BurnRank' });
export type BurnRank = z.output<typeof BurnRank>;

const AMOUNT = 'must be a whole number of base units, as text, from 1 to 18446744073709551615';
const MAX_UNITS = 2n ** 64n - 1n;

/** The burn for which a transaction is built. */
export const BurnTransactionRequest = z
  .strictObject({
    amount: z
      .string(AMOUNT)
      .refine((text) => /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= MAX_UNITS, AMOUNT)
      .meta({ description: 'Amount to burn, base units.', example: '5000000' }),
    source: z.enum(BURN_SOURCES, `must be one of ${BURN_SOURCES.join(', ')}`).meta({ description: 'Source that the memo names.', example: 'game' }),
  })
  .meta({ id: 'BurnTransactionRequest' });
export type BurnTransactionRequest = z.output<typeof BurnTransactionRequest>;

/** An unsigned transaction that burns tokens for an event. */
export const BurnTransaction = z
  .strictObject({
    transaction: z.string().meta({
      description: 'The transaction with an empty signature, base64. The wallet signs it, pays its fee and sends it.',
      example: 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA…',
    }),
    memo: memo('game'),
    mint: z.string().meta({ description: 'Mint of the burned token.', example: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T' }),
    tokenAccount: wallet('Token account whose tokens the transaction burns: the associated token account of the caller.'),
    amount: units('Amount that the transaction burns'),
    blockhash: z.string().meta({ description: 'Recent blockhash of the transaction.', example: 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N' }),
    lastValidBlockHeight: Count.meta({
      description: 'Last block height at which the transaction can land, about a minute from now. After that, request a new transaction.',
      example: 312_000_150,
    }),
  })
  .meta({ id: 'BurnTransaction' });
export type BurnTransaction = z.output<typeof BurnTransaction>;

/** A burn of the caller that is not credited. */
export const RefusedBurn = z
  .strictObject({
    signature: z.string().meta({
      description: 'Signature of the transaction.',
      example: '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv',
    }),
    index: Count.meta({ description: 'Position of the burn instruction in the transaction.', example: 0 }),
    burnEventId: Id.nullable().meta({ description: 'The event that the memo names; it may not exist. Null when no valid memo names an event.' }),
    mint: z.string().meta({ description: 'Mint of the burned token.', example: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T' }),
    amount: units('Burned amount'),
    reason: z.enum(REFUSALS).meta({
      description:
        'no-memo: no memo begins with `burn:`; several-memos: more than one does; invalid-memo: the memo is malformed or names an unknown source; unknown-event: the event does not exist; other-token: the event burns another token; not-started, ended: the block is from before or after the event; too-late: the service found the burn only after the totals of the event were final; not-owner: the owner of the tokens did not sign the burn.',
      example: 'no-memo',
    }),
    at: Instant.meta({ description: 'Time of the block.' }),
  })
  .meta({ id: 'RefusedBurn' });
