import { z } from 'zod';
import { VoidReason } from '#lib/draw/audit.ts';
import { Hash, RoundId, Units } from '#lib/draw/bytes.ts';
import { Count, Instant, Wallet } from '#lib/scalars.ts';
import { ROUND_STATES } from '../entities.ts';
import { CARD_SIZE } from './card/size.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const link = (path: string, description: string) => z.url().meta({ description, example: `https://coinop.example${path}` });
const CARD = `/social/round/${ID}/card.png`;
const CardLink = link(CARD, 'The round’s card: a PNG of 1200 × 630 pixels.');
const PageLink = link(`/share/round/${ID}`, 'The page of the round for people: of the front end, or of this service.');

const TEXT = 'Friday night draw is drawn: 3, 7, 12, 30, 41. 9xQe…VFin wins 25 USDC, and 2 more wallets win.';
const SharedPrize = z
  .strictObject({
    amount: Units.meta({ description: 'The amount in base units.', example: '25000000' }),
    mint: z.enum(['reward', 'usdc']),
    text: z.string().meta({ description: 'The amount as text for display.', example: '25 USDC' }),
  })
  .meta({ id: 'SharedPrize' });

export const SharedRoundView = z
  .strictObject({
    id: RoundId.meta({ example: ID }),
    kind: z.enum(['chat', 'legacy']),
    title: z.string().meta({ example: 'Friday night draw' }),
    status: z.enum(ROUND_STATES).meta({ example: 'finalized' }),
    text: z.string().meta({ description: 'The round in one or two sentences.', example: TEXT }),
    entries: Count.meta({ description: 'Number of entries, or of tickets in a legacy round.', example: 1234 }),
    opensAt: Instant.nullable(),
    closesAt: Instant.nullable(),
    endedAt: Instant.nullable(),
    voidReason: VoidReason.nullable().meta({ example: null }),
    numbers: z
      .array(Count)
      .nullable()
      .meta({ description: 'The winning numbers in ascending order; null before the draw and in a legacy round.', example: [3, 7, 12, 30, 41] }),
    winningTicket: Count.nullable().meta({
      description: 'Index of the winning ticket, starting at 0; null before the draw and in a chat round.',
      example: null,
    }),
    prize: z.string().nullable().meta({ description: 'The sum of all prizes as text; null when there are none.', example: '35 USDC' }),
    prizes: z.array(SharedPrize).meta({ description: 'The prizes by place: the first is for the first winner.' }),
    winners: z
      .array(z.strictObject({ place: Count.meta({ example: 1 }), wallet: Wallet, prize: SharedPrize }))
      .meta({ description: 'The first winners by place; empty before the draw.' }),
    winnersTotal: Count.nullable().meta({ description: 'Number of wallets that won; null before the draw.', example: 3 }),
    verify: z.strictObject({
      command: z
        .string()
        .meta({ description: 'Shell command that recomputes the round from public data.', example: `bin/verify-round https://coinop.example ${ID}` }),
      entriesRoot: Hash.nullable().meta({ description: 'Root of the Merkle tree over all entries; null before they are frozen.' }),
      seed: Hash.nullable().meta({ description: 'Seed of the draw; null before the draw.' }),
    }),
    links: z.strictObject({
      page: PageLink,
      summary: link(`/social/round/${ID}`, 'This summary of the round.'),
      round: link(`/chat/round/${ID}`, 'The round’s own endpoint.'),
      entries: link(`/chat/round/${ID}/entries`, 'The list of all entries.'),
      audit: link(`/chat/round/${ID}/audit`, 'The audit, with which anyone can recompute the draw; available when the round is closed.'),
      verify: link('/.well-known/coinop-keys', 'The public keys and addresses for verification.'),
      card: CardLink,
      post: link(`/social/round/${ID}/post`, 'The round as a post for X.'),
    }),
    meta: z
      .strictObject({
        title: z.string().meta({ example: 'Friday night draw · Coinop' }),
        description: z.string().meta({ example: TEXT }),
        image: CardLink,
        imageWidth: Count.meta({ example: CARD_SIZE.width }),
        imageHeight: Count.meta({ example: CARD_SIZE.height }),
        imageAlt: z.string().meta({ example: TEXT }),
        url: PageLink,
      })
      .meta({ description: 'Values for the Open Graph tags of a page about the round.' }),
  })
  .meta({ id: 'SharedRound' });

export const RoundPostView = z
  .strictObject({
    text: z.string().meta({
      description: 'The post’s text. Its weight on X is at most 280; a link counts 23, an emoji or a CJK character 2.',
      example: `🕹️ Friday night draw\n🎱 3, 7, 12, 30, 41. 9xQe…VFin wins 25 USDC.\n🔍 Anybody can draw it again:\nhttps://coinop.example/share/round/${ID}`,
    }),
    media: z.array(
      z.strictObject({
        type: z.literal('image/png'),
        url: CardLink,
        width: Count.meta({ example: CARD_SIZE.width }),
        height: Count.meta({ example: CARD_SIZE.height }),
        alt: z.string().meta({ description: 'Description of the picture for screen readers.', example: TEXT }),
      }),
    ),
    url: PageLink,
  })
  .meta({ id: 'RoundPost' });
