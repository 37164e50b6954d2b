import type { Config } from '#config';
import { CARD_SIZE } from './card/size.ts';
import type { SharedRound } from './rounds.ts';
import { linksOf, outcomeOf, prizesOf, sentenceOf } from './summary.ts';
import { type Decimals, readableSum } from './units.ts';
import { shortenToWeight } from './weight.ts';
import { readableTime, titleOf, VOID_SENTENCES } from './wording.ts';

/** Maximum characters of a picture's description on X. */
const MAX_ALT_CHARACTERS = 1_000;

/** Returns a round as a post for X. Shortens the round's title if the post would be too long. */
export function postOf(config: Pick<Config, 'frontendUrl' | 'publicUrl'>, round: SharedRound, decimals: Decimals) {
  const { page: url, card } = linksOf(config, round);
  const lines = linesOf(round, decimals);
  return {
    text: shortenToWeight(titleOf(round), (title) => [`🕹️ ${title}`, ...lines, url].join('\n')),
    media: [{ type: 'image/png' as const, url: card, ...CARD_SIZE, alt: sentenceOf(round, decimals).slice(0, MAX_ALT_CHARACTERS) }],
    url,
  };
}

/** Returns the lines of the post between the title and the link. */
function linesOf(round: SharedRound, decimals: Decimals): string[] {
  const { kind, state, closesAt, beaconDueAt, voidReason } = round;
  const sum = readableSum(prizesOf(round), decimals);
  const prize = sum === null ? [] : [`🏆 ${sum}`];
  switch (state) {
    case 'pending':
      return [...prize, '⏳ Soon'];
    case 'active': {
      const how = kind === 'chat' ? ['🎟️ Type !enter in chat'] : [];
      return [...prize, ...how, `⏰ Until ${readableTime(closesAt ?? '')}`];
    }
    case 'closing':
      return [...prize, '🔒 Closed: the entries go on the chain, then come the numbers'];
    case 'committed':
      return [...prize, `🔒 Entries are fixed on the chain, drawn at ${readableTime(beaconDueAt ?? '')}`];
    case 'finalized':
      return [`🎱 ${outcomeOf(round, decimals)}`, '🔍 Anybody can draw it again:'];
    case 'void':
      return [`⚪ Void: ${VOID_SENTENCES[voidReason ?? 'no-entries']}`];
  }
}
