import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Count, Id, Instant, line } from '#lib/scalars.ts';

/** Where a burn may come from, as its memo says. */
export const SOURCES = ['referral', 'game', 'social'] as const;
export type Source = (typeof SOURCES)[number];

/** The leaderboards of an event: of all that was burned, and by source. */
export type BurnBoard = 'total' | Source;

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
// Not checked again on their way out.
const wallet = (description: string) => z.string().meta({ description, example: WALLET });
const units = (description: string, example = '5000000') => z.string().meta({ description: `${description}, base units.`, example });

/** Any id in a path: one that is no event's is 404, whatever it looks like. */
export const BurnPath = z.object({ id: z.string().meta({ description: 'The burn event’s id.', example: ID }) });

const terms = {
  title: line(120).meta({ example: 'The great bonfire' }),
  description: line(1_000).optional().meta({ example: 'Burn what you won, and be first.' }),
  durationSec: z.int().min(3_600).max(2_592_000).meta({ description: 'How long it lasts from its activation on, seconds.', example: 86_400 }),
};

/** How a burn event is described. */
export const BurnEventTerms = z.strictObject(terms).meta({ id: 'BurnEventTerms' });
export type BurnEventTerms = z.output<typeof BurnEventTerms>;

const memo = (source: Source) => z.string().meta({ example: `burn:${ID}:${source}` });
const BySource = z
  .strictObject({
    referral: units('By wallets that were referred'),
    game: units('By wallets that play', '0'),
    social: units('By linked wallets', '0'),
  })
  .meta({ id: 'BurnedBySource', description: 'What was burned from a source that held at the time of the burn.' });

export const BurnEventView = z
  .strictObject({
    id: Id,
    title: terms.title,
    description: z.string().nullable().meta({ example: 'Burn what you won, and be first.' }),
    status: z.enum(['pending', 'active', 'ended']),
    mint: z.string().meta({ description: 'What is burned.', example: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T' }),
    durationSec: terms.durationSec,
    memos: z.strictObject({ referral: memo('referral'), game: memo('game'), social: memo('social') }).meta({
      description: 'What the transaction that burns must have as its memo, by source. With none or several of them the burn counts for nothing.',
    }),
    createdBy: wallet('Who described it.'),
    createdAt: Instant,
    activatedAt: Instant.nullable().meta({
      description: 'Burns in blocks from this time on count; some seconds before it was activated, because the chain’s clock may be behind.',
    }),
    endsAt: Instant.nullable().meta({ description: 'Burns in blocks before this time count.' }),
    final: z.boolean().meta({ description: 'It has ended, and all burns that count are recorded: nothing changes any more.' }),
    participants: Count.meta({ description: 'Wallets that have burned.', example: 120 }),
    burnTotal: units('All that was burned', '7000000'),
    bySource: BySource,
  })
  .meta({ id: 'BurnEvent' });
export type BurnEventView = z.output<typeof BurnEventView>;

export const BurnBoardQuery = PageQuery.extend({
  around: z
    .literal('me', 'must be me')
    .optional()
    .meta({ description: 'Centres the page on the caller; offset counts for nothing then. A caller who is not listed gets the top.' }),
});
export type BurnBoardQuery = z.output<typeof BurnBoardQuery>;

const rank = Count.min(1).meta({ description: 'Competition rank: who burned the same shares it, the next rank is skipped.', example: 3 });

export const BurnStanding = z
  .strictObject({ rank, wallet: wallet('The wallet’s address.'), amount: units('What it burned') })
  .meta({ id: 'BurnStanding' });
export type BurnStanding = z.output<typeof BurnStanding>;

/** A wallet's place in an event. */
export const BurnRank = z
  .strictObject({
    rank: rank.nullable().meta({ description: 'By all that was burned; null for a wallet that burned nothing.' }),
    burned: units('What the caller burned'),
    percentile: z
      .number()
      .nullable()
      .meta({ description: 'Share of the participants that rank no better, in percent; null without a rank.', example: 98.5 }),
    bySource: BySource,
  })
  .meta({ id: 'BurnRank' });
export type BurnRank = z.output<typeof BurnRank>;
