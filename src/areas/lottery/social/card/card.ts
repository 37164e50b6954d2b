import type { Config } from '#config';
import { pageUrl } from '#platform/http/pages/page.ts';
import type { RoundState } from '../../rows.ts';
import type { SharedRound } from '../rounds.ts';
import { checkUrlOf, prizeOf, prizesOf } from '../summary.ts';
import { type Decimals, readable, readableSum } from '../units.ts';
import { counted, readableTime, shortWallet, titleOf, VOID_SENTENCES } from '../wording.ts';

/** The content of a card, as text only. Equal content gives an identical picture. */
export interface Card {
  readonly kind: string;
  readonly title: string;
  /** Title that is shown if the font cannot draw the round's title. */
  readonly fallbackTitle: string;
  readonly badge: { readonly text: string; readonly tone: Tone };
  /** The winning numbers, or a question mark for each number before the draw; empty in a legacy round. */
  readonly balls: readonly string[];
  /** The index of the winning ticket of a legacy round, or a question mark before the draw; null in a chat round. */
  readonly ticket: string | null;
  /** Whether the round is drawn. Then the card shows the balls or the ticket as lit. */
  readonly isLit: boolean;
  readonly stats: readonly { readonly label: string; readonly value: string }[];
  readonly winners: readonly { readonly place: number; readonly wallet: string; readonly prize: string }[];
  /** Sentence that is shown when there are no winners. */
  readonly note: string;
  readonly proof: string;
  readonly host: string;
  /** URL of the QR code: the page that checks the round, or the page of the round if this service serves no arcade page. */
  readonly link: string;
}
export type Tone = 'open' | 'sealed' | 'drawn' | 'off';

const BADGES: Readonly<Record<RoundState, Card['badge']>> = {
  pending: { text: 'COMING UP', tone: 'sealed' },
  active: { text: 'OPEN', tone: 'open' },
  closing: { text: 'CLOSED', tone: 'sealed' },
  committed: { text: 'FIXED ON CHAIN', tone: 'sealed' },
  finalized: { text: 'DRAWN', tone: 'drawn' },
  void: { text: 'VOID', tone: 'off' },
};

/** Creates the content of a round's card. */
export function cardOf(config: Pick<Config, 'frontendUrl' | 'publicUrl' | 'web'>, round: SharedRound, decimals: Decimals): Card {
  const { frontendUrl, publicUrl } = config;
  const { id, kind, state, entries, picks, result } = round;
  const ticket = result?.ticket ?? null;
  const isChat = kind === 'chat';
  return {
    kind: isChat ? 'CHAT LOTTERY' : 'TICKET LOTTERY',
    title: titleOf(round),
    fallbackTitle: `Round ${id.slice(0, 8)}`,
    badge: BADGES[state],
    balls: isChat ? (result?.numbers.map(String) ?? Array.from({ length: picks ?? 0 }, () => '?')) : [],
    ticket: isChat ? null : ticket === null ? '?' : ticket.toLocaleString('en-US'),
    isLit: result !== null,
    stats: [
      { label: 'PRIZE', value: readableSum(prizesOf(round), decimals) ?? (round.ticketPrice === '0' ? 'The honour' : 'All tickets') },
      { label: isChat ? 'ENTRIES' : 'TICKETS', value: entries.toLocaleString('en-US') },
      relevantTime(round),
    ],
    winners: (result?.winners ?? []).map((winner) => ({
      place: winner.place,
      wallet: shortWallet(winner.wallet),
      prize: winner.amount === '0' ? 'wins' : readable(BigInt(winner.amount), prizeOf(round, winner).mint, decimals),
    })),
    note: noteOf(round, decimals),
    proof: proofOf(round),
    host: (frontendUrl ?? publicUrl).host,
    link: checkUrlOf(config, id) ?? pageUrl(config, `/share/round/${id}`),
  };
}

/** Returns the label and time that the card shows for the round's state. */
function relevantTime({ state, closesAt, beaconDueAt, endedAt, createdAt }: SharedRound): Card['stats'][number] {
  switch (state) {
    case 'pending':
      return { label: 'ANNOUNCED', value: readableTime(createdAt) };
    case 'active':
      return { label: 'CLOSES', value: readableTime(closesAt ?? createdAt) };
    case 'closing':
      return { label: 'CLOSED', value: readableTime(closesAt ?? createdAt) };
    case 'committed':
      return { label: 'DRAW', value: readableTime(beaconDueAt ?? createdAt) };
    case 'finalized':
      return { label: 'DRAWN', value: readableTime(endedAt ?? createdAt) };
    case 'void':
      return { label: 'ENDED', value: readableTime(endedAt ?? createdAt) };
  }
}

function noteOf(round: SharedRound, decimals: Decimals): string {
  const { kind, state, picks, range, ticketPrice, prizes, voidReason } = round;
  switch (state) {
    case 'pending':
      return `${counted(prizes?.length ?? 0, 'prize', 'prizes')} to win. It opens soon.`;
    case 'active':
      if (kind === 'chat') return `Type !enter in chat, with ${picks} numbers of 1–${range} if you like.`;
      return ticketPrice === '0'
        ? 'Tickets are free.'
        : `A ticket is ${readable(BigInt(ticketPrice ?? 0), 'usdc', decimals)}. One winner takes it all.`;
    case 'closing':
      return 'No more entries. They are fixed on the chain before anybody can know the draw.';
    case 'committed':
      return 'The entries are fixed on the chain. A public random beacon decides.';
    case 'finalized':
      return 'No entry has one of these numbers. The prizes stay in the treasury.';
    case 'void':
      return `${VOID_SENTENCES[voidReason ?? 'no-entries']}${kind === 'legacy' && ticketPrice !== '0' && voidReason !== 'no-entries' ? ' Tickets are paid back.' : ''}`;
  }
}

/** Returns the line of hashes with which a reader can verify the round. */
function proofOf({ id, root, result }: SharedRound): string {
  if (root === null) return `Every draw can be drawn again by anybody · round ${id.slice(0, 8)}`;
  const seed = result ? ` · seed ${result.seed.slice(0, 12)}…` : '';
  return `Verify: entries root ${root.slice(0, 12)}…${seed}`;
}
