import type { z } from 'zod';
import type { Config } from '#config';
import type { App } from '#platform/app.ts';
import { pageUrl } from '#platform/http/pages/page.ts';
import type { RoundRow } from '../rows.ts';
import type { PrizeTerms } from '../terms.ts';
import { CARD_SIZE } from './card/size.ts';
import { readSharedRound, type SharedRound } from './rounds.ts';
import type { SharedRoundView } from './schemas.ts';
import { type Decimals, readable, readableSum, readDecimals } from './units.ts';
import { counted, readableTime, shortWallet, titleOf, VOID_SENTENCES } from './wording.ts';

type Summary = z.input<typeof SharedRoundView>;
type Urls = Pick<Config, 'frontendUrl' | 'publicUrl'>;

/** Returns the prizes of a round: the terms of a chat round, or the sum of the ticket prices of a legacy round. */
export function prizesOf(round: RoundRow): PrizeTerms[] {
  if (round.kind === 'chat') return [...(round.prizes ?? [])];
  const pool = BigInt(round.ticketPrice ?? 0) * BigInt(round.entries);
  return pool === 0n ? [] : [{ amount: String(pool), mint: 'usdc' }];
}

/** Returns the prize of a winner. */
export function prizeOf({ kind, prizes }: RoundRow, { place, amount }: { place: number; amount: string }): PrizeTerms {
  return { amount, mint: kind === 'legacy' ? 'usdc' : (prizes?.[place - 1]?.mint ?? 'reward') };
}

/** Returns the URL of the arcade page that checks a round in the browser of its visitor; null if this service does not serve the arcade page. */
export const checkUrlOf = ({ publicUrl, web }: Pick<Config, 'publicUrl' | 'web'>, round: string): string | null =>
  web ? new URL(`/check/round/${round}`, publicUrl).href : null;

/** Returns the absolute URLs of a round's resources. */
export function linksOf(config: Urls, { id, kind }: Pick<RoundRow, 'id' | 'kind'>): Summary['links'] {
  const at = (path: string) => new URL(path, config.publicUrl).href;
  const round = `${kind === 'chat' ? '/chat' : ''}/round/${id}`;
  return {
    page: pageUrl(config, `/share/round/${id}`),
    summary: at(`/social/round/${id}`),
    round: at(round),
    entries: at(`${round}/entries`),
    audit: at(`${round}/audit`),
    verify: at('/.well-known/coinop-keys'),
    card: at(`/social/round/${id}/card.png`),
    post: at(`/social/round/${id}/post`),
  };
}

/** Describes a round in one or two sentences. */
export function sentenceOf(round: SharedRound, decimals: Decimals): string {
  const { kind, state, entries, closesAt, beaconDueAt, voidReason } = round;
  const title = titleOf(round);
  const prize = readableSum(prizesOf(round), decimals);
  const taken = kind === 'chat' ? counted(entries, 'entry', 'entries') : counted(entries, 'ticket', 'tickets');
  const to = prize === null ? '' : ` for ${prize}`;
  switch (state) {
    case 'pending':
      return `${title} is coming up${to}.`;
    case 'active':
      return `${title} is open${to} until ${readableTime(closesAt ?? '')}: ${taken} so far.`;
    case 'closing':
      return `${title} is closed with ${taken}, which go on the chain before the draw${to}.`;
    case 'committed':
      return `${title}: ${taken} are committed to on the chain. The draw${to} is decided at ${readableTime(beaconDueAt ?? '')}.`;
    case 'finalized':
      return `${title} is drawn: ${outcomeOf(round, decimals)}`;
    case 'void':
      return `${title} is void. ${VOID_SENTENCES[voidReason ?? 'no-entries']}`;
  }
}

/** Describes the result of a drawn round in one or two sentences. */
export function outcomeOf(round: SharedRound, decimals: Decimals): string {
  if (!round.result) return '';
  const { numbers, ticket, winners, won } = round.result;
  const drawn = ticket === null ? numbers.join(', ') : `ticket ${ticket}`;
  const [first] = winners;
  if (!first) return `${drawn}. No entry has one of these numbers: the prizes stay in the treasury.`;
  const prize = first.amount === '0' ? '' : ` ${readable(BigInt(first.amount), prizeOf(round, first).mint, decimals)}`;
  const others = won > 1 ? `, and ${counted(won - 1, 'more wallet wins', 'more wallets win')}` : '';
  return `${drawn}. ${shortWallet(first.wallet)} wins${prize}${others}.`;
}

/** Reads the summary of a round for sharing. @throws 404 when the round does not exist */
export const readRoundSummary = async (app: App, round: string): Promise<Summary> =>
  summaryOf(app.config, await readSharedRound(app.db, round), await readDecimals(app));

/** Returns the summary of a round for sharing. */
export function summaryOf(config: Urls, round: SharedRound, decimals: Decimals): Summary {
  const { id, kind, state, entries, opensAt, closesAt, endedAt, voidReason, result, root } = round;
  const { publicUrl } = config;
  const links = linksOf(config, round);
  const title = titleOf(round);
  const text = sentenceOf(round, decimals);
  const withText = ({ amount, mint }: PrizeTerms) => ({ amount, mint, text: readable(BigInt(amount), mint, decimals) });
  const prizes = prizesOf(round);
  return {
    ...{ id, kind, title, status: state, text, entries, opensAt, closesAt, endedAt, voidReason },
    numbers: result && kind === 'chat' ? [...result.numbers] : null,
    winningTicket: result?.ticket ?? null,
    prize: readableSum(prizes, decimals),
    prizes: prizes.map(withText),
    winners: (result?.winners ?? []).map(({ place, wallet, amount }) => ({ place, wallet, prize: withText(prizeOf(round, { place, amount })) })),
    winnersTotal: result ? result.won : null,
    verify: {
      command: `bin/verify-round ${publicUrl.origin} ${id}`,
      entriesRoot: root,
      seed: result?.seed ?? null,
    },
    links,
    meta: {
      title: `${title} · Coinop`,
      description: text,
      image: links.card,
      imageWidth: CARD_SIZE.width,
      imageHeight: CARD_SIZE.height,
      imageAlt: text,
      url: links.page,
    },
  };
}
