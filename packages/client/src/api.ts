// Written by packages/client/generate.ts from the routes and events of the service. Do not edit.

import type { Bytes } from './bytes.ts';

export type Acknowledged = { received: true };

export type ActiveEvent = {
  type: 'chat_round' | 'burn_event' | 'arcade_event';
  id: Id;
  title: string;
  startsAt: Instant;
  endsAt: Instant | null;

  /** Of an arcade_event that has one; free-form. */
  payload?: unknown;
};

export type ArcadeEvent = { id: Id; name: string; payload?: unknown; startsAt: Instant; endsAt: Instant };

export type ArcadeEventRequest = {
  /** What front ends know it by, or show. */
  name: string;

  /** Free-form, up to 8 KB. */
  payload?: unknown;

  /** How long it is among the active events; it is broadcast once. */
  durationSec?: number;
};

export type ArcadeState = {
  /** How the arcade looks; free-form. */
  theme: { [key: string]: unknown };
  themeVersion: number;

  /** What goes on now: the chat round, the burn event, then one-time events, newest first, at most 50. */
  activeEvents: ActiveEvent[];
  arcade: {
    name: string;

    /** How many games there are. */
    games: number;
    categories: Slug[];

    /** How many cabinets there are. */
    cabinets: number;

    /** How many of them are possessed. */
    possessed: number;
  };
};

export type AuditEntry = {
  /** From 1 on, without gaps. */
  id: string;

  /** To the microsecond. */
  at: Instant;

  /** Which admin token it was. */
  tokenName: string;
  method: string;

  /** With the query. */
  path: string;

  /** SHA-256 of the body as it came, hex; of a streamed body that of nothing. */
  bodyHash: string;

  /** The hash of the entry before, hex; empty for the first. */
  previousHash: string;

  /** SHA-256(previousHash ‖ the JSON array [id, at, tokenName, method, path, bodyHash]), hex. */
  hash: string;
};

export type AutoStart = {
  /** From one round’s beginning to the next one’s. A round that is still active then is waited for. */
  intervalSec: number;

  /** Each round’s terms. In the title `{n}` becomes the round’s number in the schedule, `{date}` its UTC day. */
  template: ChatRoundTerms;

  /** When the first round is due; the others follow at the interval. In the past: one round now, the next on that grid. Within a year. */
  startAt?: Instant;
};

export type AutoStatus = {
  running: boolean;

  /** null before the first start, as everything else. */
  intervalSec: number | null;
  template: ChatRoundTermsOutput | null;

  /** When the next round is due; null while stopped. In the past where it waits, or was refused. */
  nextAt: Instant | null;

  /** The round that was started last. */
  lastRound: string | null;
  lastStartedAt: Instant | null;

  /** Why the due round has not begun; it is tried again. null once one has. */
  lastError: string | null;

  /** The admin token that started it last. */
  startedBy: string | null;
};

export type Ban = { wallet: Wallet; banned: boolean };

export type BanRequest = { reason: string };

export type Battle = {
  id: Id;

  /** open: can be joined. running: scores that name it count. finished: the result is there, about a second after its end. expired: not started in time. */
  status: 'open' | 'running' | 'finished' | 'expired';
  game: BattleGame;
  maxPlayers: number;
  durationSec: number;

  /** Who may start it before all seats are taken. */
  createdBy: string;
  createdAt: Instant;

  /** null where nobody can join any more. */
  join: {
    /** POST to it to take a seat. */
    path: string;
    seatsLeft: number;

    /** When it expires unless it is started. */
    expiresAt: Instant;
  } | null;
  startedAt: Instant | null;

  /** Scores accepted before it count. Once all participants have scored, that moment; null until it is started. */
  endsAt: Instant | null;

  /** When it was finished, or expired. */
  endedAt: Instant | null;

  /** In the order of their seats. */
  participants: {
    /** Who has the seat. */
    wallet: string;

    /** In the order of joining; the creator has the first. */
    seat: number;
    joinedAt: Instant;

    /** The best normalized score that counts, normally within a second; null for none. */
    score: number | null;

    /** How many scores count. */
    scores: number;

    /** Who has the same score shares a place; null until it is finished, and for who has no score. */
    place: number | null;
  }[];

  /** Empty until it is finished, and where nobody has scored. */
  winners: string[];
};

/** What is played, as the game is configured now. */
export type BattleGame = {
  id: Slug;
  name: string;
  category: Slug;
  verification: Verification;
  version: number;
  normalization: Normalization;
  caps: GameCapsOutput;
};

export type BattleTerms = {
  gameId: Slug;

  /** With so many it starts by itself. */
  maxPlayers?: number;

  /** From its start to its end, s. */
  durationSec?: number;
};

export type BetaPoints = {
  /** Beta points of all time, less those taken back. */
  total: number;

  /** Those that were converted. */
  converted: number;

  /** Those left: below 0 where points were taken back after they had been converted. */
  unconverted: number;
  sources: BetaSources;

  /** Best first. */
  games: GameLine[];
};

export type BetaPreference = {
  /** Whether new points are beta points. */
  enabled: boolean;
};

export type BetaPreferenceRequest = {
  /** Absent, the preference is toggled. */
  enabled?: boolean;
};

/** What the total is from. */
export type BetaSources = {
  /** From games. */
  games: number;

  /** From quests. */
  quests: number;

  /** From referrals. */
  referrals: number;
};

export type BetaStats = {
  /** Whether new points are beta points. */
  enabled: boolean;
  points: {
    /** Beta points of all time, less those taken back. */
    total: number;

    /** Of this UTC day. */
    today: number;

    /** Of this ISO week. */
    week: number;
  };

  /** Games with an accepted beta score. */
  gamesPlayed: number;

  /** Accepted beta scores. */
  scores: number;
  converted: {
    /** Beta points that were converted. */
    betaPoints: number;

    /** The regular points that they became. */
    points: number;

    /** Newest first, 20 at most. */
    conversions: PastConversion[];
  };
};

export type BindRequest = {
  /** In any case. */
  code: string;
};

export type BoardRank = {
  /** null for a wallet without points. */
  rank: number | null;
  score: number;

  /** Share of the listed wallets that rank no better, in percent; null without a rank. */
  percentile: number | null;

  /** What is missing to the next better score; null for the best and without a rank. */
  pointsToNext: number | null;

  /** The wallets listed right before and after this one, two on either side. */
  neighbours: LeaderboardEntry[];
};

export type BridgedMessage = {
  /** The chat: 1 to 32 lower-case letters, digits and hyphens; not `chat`, `chain`. */
  platform?: unknown;

  /** What the message is called there, at most 256 characters. */
  messageId?: unknown;

  /** `id`: what the account never changes, at most 256 characters. `handle`: what people see, at most 100. */
  author?: unknown;

  /** At most 500 characters. */
  text?: unknown;

  /** When it was written, ISO 8601. */
  at?: unknown;
} & { [key: string]: unknown };

export type BurnEvent = {
  id: Id;
  title: string;
  description: string | null;
  status: 'pending' | 'active' | 'ended';

  /** What is burned. */
  mint: string;

  /** How long it lasts from its activation on, seconds. */
  durationSec: number;

  /** What the transaction that burns must have as its memo, by source. With none or several of them the burn counts for nothing. */
  memos: { referral: string; game: string; social: string };

  /** Who described it. */
  createdBy: string;
  createdAt: Instant;

  /** Burns in blocks from this time on count; some seconds before it was activated, because the chain’s clock may be behind. */
  activatedAt: Instant | null;

  /** Burns in blocks before this time count. */
  endsAt: Instant | null;

  /** It has ended, and all burns that count are recorded: nothing changes any more. */
  final: boolean;

  /** Wallets that have burned. */
  participants: number;

  /** All that was burned, base units. */
  burnTotal: string;
  bySource: BurnedBySource;
};

export type BurnEventTerms = {
  title: string;
  description?: string;

  /** How long it lasts from its activation on, seconds. */
  durationSec: number;
};

export type BurnRank = {
  /** By all that was burned; null for a wallet that burned nothing. */
  rank: number | null;

  /** What the caller burned, base units. */
  burned: string;

  /** Share of the participants that rank no better, in percent; null without a rank. */
  percentile: number | null;
  bySource: BurnedBySource;
};

export type BurnStanding = {
  /** Competition rank: who burned the same shares it, the next rank is skipped. */
  rank: number;

  /** The wallet’s address. */
  wallet: string;

  /** What it burned, base units. */
  amount: string;
};

/** What was burned from a source that held at the time of the burn. */
export type BurnedBySource = {
  /** By wallets that were referred, base units. */
  referral: string;

  /** By wallets that play, base units. */
  game: string;

  /** By linked wallets, base units. */
  social: string;
};

export type Cabinet = {
  id: Slug;
  gameId: Slug;
  status: 'normal' | 'possessed';

  /** Who controls it; null in normal operation. */
  possessedBy: string | null;

  /** Name, position, whatever a front end shows it by. */
  display: { [key: string]: unknown };
  version: number;
};

export type CabinetReleaseRequest = { cabinetId: Slug };

export type CabinetRequest = {
  gameId: string;

  /** Name, position, whatever a front end shows it by; free-form, up to 16 KB. */
  display: { [key: string]: unknown };
};

export type ChainTransaction = {
  id: Id;
  kind: string;
  subject: string;

  /** `queued`: it was set aside, and is tried again. */
  state: 'manual' | 'failed' | 'queued';
  attempts: number;
  signature: string | null;

  /** Why: `{ name, message, instruction, code }`. */
  error: __schema0;

  /** What the last look at the latest attempt saw. */
  evidence: __schema1;
  createdAt: Instant;
  changedAt: Instant;
};

export type ChatMessage = {
  messageId: Id;

  /** `chat`, or the bridged chat that it comes from. */
  source: string;

  /** null where a bridged author has linked no wallet. */
  wallet: string | null;

  /** Of a bridged author. */
  handle: string | null;
  text: string;
  entryId: Id | null;
  at: Instant;
};

export type ChatMessageReceipt = {
  messageId: Id;

  /** Where the message was an entry. */
  entry?: {
    id: Id;

    /** Its index: 0, 1, 2, … in the order of acceptance. */
    sequence: number;

    /** Ascending. */
    numbers: number[];
    receipt: EntryReceipt;
  };
};

export type ChatMessageRequest = {
  /** One line. `!enter`, alone or with numbers, is an entry of the active round. */
  text: string;
};

export type ChatMessages = {
  messages: ChatMessage[];

  /** `before` of the next page; null where there is none. */
  next: Id | null;
};

export type ChatModeration = {
  action: 'delete' | 'mute' | 'unmute' | 'ban' | 'unban';
  messageId: Id | null;
  wallet: string | null;
  account: { platform: string; id: string } | null;

  /** When a mute ends. */
  until: Instant | null;
};

export type ChatModerationRequest =
  | { action: 'delete'; messageId: Id }
  | {
      action: 'mute';

      /** With all accounts that are linked to it. */
      wallet?: Wallet;

      /** One account of a bridged chat. */
      account?: { platform: string; id: string };
      minutes: number;
    }
  | {
      action: 'unmute' | 'ban' | 'unban';

      /** With all accounts that are linked to it. */
      wallet?: Wallet;

      /** One account of a bridged chat. */
      account?: { platform: string; id: string };
    };

export type ChatRound = {
  id: string;

  /** pending: described. active: takes entries. closing: entries are frozen and go into a commitment. committed: it is final on the chain, and the beacon decides. finalized: drawn. void: over without a draw. */
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** How many were accepted. */
  entries: number;
  opensAt: Instant | null;
  closesAt: Instant | null;

  /** Root of the tree over all entries; null before they are frozen. */
  entriesRoot: string | null;
  commitment: RoundCommitment | null;

  /** The beacon’s round is an hour past, and nothing is drawn yet. */
  overdue: boolean;
  voidReason: 'no-entries' | 'late-block' | 'no-beacon' | 'entries-differ' | null;

  /** The void round whose entries these are. */
  predecessor: string | null;

  /** The round that goes on with the entries of this void one. */
  successor: string | null;
  createdAt: Instant;
  endedAt: Instant | null;
  title: string;
  picks: number;
  range: number;
  prizes: Prize[];
  durationSec: number;
  maxEntriesPerWallet: number;
};

export type ChatRoundTerms = {
  title: string;

  /** How many numbers an entry has, and are drawn. */
  picks?: number;

  /** Numbers are 1 to this. */
  range?: number;

  /** The k-th winner gets the k-th. */
  prizes: Prize[];

  /** How long entries are accepted. */
  durationSec: number;
  maxEntriesPerWallet?: number;
};

export type ChatRoundTermsOutput = {
  title: string;

  /** How many numbers an entry has, and are drawn. */
  picks: number;

  /** Numbers are 1 to this. */
  range: number;

  /** The k-th winner gets the k-th. */
  prizes: Prize[];

  /** How long entries are accepted. */
  durationSec: number;
  maxEntriesPerWallet: number;
};

export type ChatStatus = {
  /** down: no messages are taken. degraded: they are, but the stream lags by more than 5 s, or a round is stuck. */
  status: 'ok' | 'degraded' | 'down';
  takesMessages: boolean;
  checks: { database: 'ok' | 'failed'; redis: 'ok' | 'failed' };

  /** Where `!enter` goes. null too while the database does not answer, as all that follows. */
  activeRound: { id: Id; closesAt: Instant } | null;
  messagesLastMinute: number | null;
  lastMessageAt: Instant | null;

  /** Age of the oldest event that the stream does not have yet; 0 when it has them all. */
  streamLagMs: number | null;

  /** Rounds that should be further on: a minute past their end and not closed, an hour closed and not committed, or overdue. */
  stuckRounds: number | null;
};

export type Claim = {
  claimId: Id;
  epoch: number;
  wallet: Wallet;

  /** Base units. */
  amount: string;

  /** The transaction that did it, or is to do it; null while there is none, or where it is not known whose it was. */
  signature: string | null;

  /** queued: to be signed. submitted: on its way. confirmed: the cluster has voted for it. claimed: final. failed: over without effect, may be asked for again. */
  status: 'queued' | 'submitted' | 'confirmed' | 'claimed' | 'failed';

  /** Why it failed. */
  reason: string | null;
  requestedAt: Instant;
  changedAt: Instant;
};

export type ClaimReceipt = {
  claimId: Id;
  epoch: number;
  wallet: Wallet;

  /** Base units. */
  amount: string;

  /** The transaction that did it, or is to do it; null while there is none, or where it is not known whose it was. */
  signature: string | null;

  /** queued: to be signed. submitted: on its way. confirmed: the cluster has voted for it. claimed: final. failed: over without effect, may be asked for again. */
  status: 'queued' | 'submitted' | 'confirmed' | 'claimed' | 'failed';
};

export type ClaimRequest = {
  /** The epoch: UTC days since 1970-01-01. */
  epoch: number;

  /** The hashes beside the way from the leaf to the root, from the bottom up. */
  proof: string[];
};

export type ClaimableReward = {
  /** UTC days since 1970-01-01. */
  epoch: number;

  /** What the wallet gets. Base units. */
  amount: string;

  /** The leaf’s place in the tree. */
  index: number;

  /** committed: it can be claimed now. claiming: a claim is on its way. computed: it can be claimed as soon as the root is on the chain. settled: it was settled off-chain. */
  status: 'computing' | 'empty' | 'computed' | 'committed' | 'expired' | 'settled' | 'claiming';

  /** Until when it can be claimed; known once it is committed. */
  expiresAt: Instant | null;
};

export type Clip = {
  id: Id;

  /** Who uploaded it. */
  wallet: Wallet;
  gameId: Slug;
  title: string | null;

  /** What the file is, by its content. */
  type: 'video/mp4' | 'video/webm' | 'image/gif';
  bytes: number;

  /** The file; takes Range. */
  url: string;
  createdAt: Instant;
};

export type ClipUpload = {
  gameId: Slug;

  /** One line. */
  title?: string;

  /** The clip: video/mp4, video/webm, image/gif; at most 52428800 bytes. Its name is not kept. */
  file: string;
};

export type CompleteQuest = { wallet: Wallet };

export type CompleteTask = { taskId: string };

export type ConversionRequest = {
  wallet: Wallet;

  /** Regular points for a beta point. */
  rate?: string;
};

export type ConversionResult = {
  /** null where there was nothing to convert. */
  id: Id | null;
  wallet: Wallet;
  rate: string;

  /** Beta points that were converted. */
  betaPoints: number;

  /** The regular points that they became, rounded down. */
  points: number;

  /** Beta points that the wallet has now. */
  betaTotal: number;

  /** Regular points that the wallet has now. */
  total: number;
};

export type CrcAnswer = { response_token: string };

export type Day = string;

export type DecisionRequest = { decision: 'accept' | 'reject'; reason?: string };

export type DrawnInteger = {
  counter: number;

  /** It was drawn from 0 to bound − 1. */
  bound: number;

  /** A u64: value = raw mod bound. */
  raw: string;

  /** Raw values before it, from 2^64 − (2^64 mod bound) on. */
  rejected: string[];
  value: number;
};

export type Eligibility = {
  /** Whether the balance is at least the minimum. */
  eligible: boolean;

  /** Base units of the token over all token accounts of the wallet, frozen ones included. */
  tokenBalance: string;

  /** Base units that the gate asks for. */
  minimum: string;

  /** The token. */
  mint: Wallet;

  /** When the chain was asked. */
  checkedAt: Instant;
};

export type EntriesRoot = {
  root: string;

  /** How many entries are under it. */
  count: number;
  algorithm: { hash: 'sha256'; leaf: string; node: string; oddNode: string };
};

export type EntryProof = {
  entry: {
    /** The entry. */
    id: string;

    /** Its place in the order in which entries were accepted, from 0 on. */
    index: number;
    wallet: Wallet;

    /** Ascending; none for a ticket. */
    numbers: number[];

    /** Where it came from: the service’s own chat, a bridged one, the chain. */
    source: string;

    /** The message there; a transaction’s signature for a ticket that was paid for. */
    messageId: string;
    at: string;
  };

  /** Its place in the order in which entries were accepted, from 0 on. */
  index: number;
  leaf: string;

  /** The siblings from the leaf up. Where a node moves up by itself it has none. */
  proof: string[];
  root: string;
};

/** Signed with ed25519: base64 over `coinop/receipt/1`, a line feed, and the canonical JSON (RFC 8785) of `body`. */
export type EntryReceipt = {
  body: {
    version: 1;
    round: string;
    entry: string;
    index: number;
    wallet: Wallet;
    numbers: number[];
    source: string;
    messageId: string;
    at: string;
    leaf: string;
  };
  keyId: string;
  signature: string;
};

export type Error = {
  /** One sentence that names the field and what it must be. */
  error: string;
};

export type FinalizedRound = {
  id: string;
  title: string;
  numbers: number[];
  entries: number;

  /** How many wallets won. */
  winners: number;
  prizes: { amount: string; mint: 'reward' | 'usdc' }[];

  /** Of its commitment. */
  sequence: number;
  endedAt: Instant;
};

export type Game = {
  name: string;
  category: Slug;
  normalization: Normalization;

  /** Points for a normalized score of 10,000. */
  pointsPer10000: number;
  caps: GameCapsOutput;
  verification: Verification;
  rewards: boolean;
  id: Slug;
  version: number;
  hasSecret: boolean;
};

export type GameCaps = {
  /** Points that one wallet may earn in this game a day. */
  dailyPoints: number;

  /** Raw score per second of play above which a score is held. */
  scorePerSec?: number;

  /** The shortest play that is believed, ms. */
  minDurationMs?: number;

  /** The longest play that is believed, ms. */
  maxDurationMs?: number;
};

export type GameCapsOutput = {
  /** Points that one wallet may earn in this game a day. */
  dailyPoints: number;

  /** Raw score per second of play above which a score is held. */
  scorePerSec?: number;

  /** The shortest play that is believed, ms. */
  minDurationMs: number;

  /** The longest play that is believed, ms. */
  maxDurationMs: number;
};

export type GameId = Slug;

export type GameLine = {
  gameId: string;

  /** The best normalized score, 0 to 10,000. */
  best: number;

  /** Accepted scores. */
  scores: number;

  /** What they gave. */
  points: number;
};

/** The game’s id. */
export type GameRef = Slug;

export type GameRequest = {
  name: string;
  category: Slug;
  normalization: Normalization;

  /** Points for a normalized score of 10,000. */
  pointsPer10000: number;
  caps: GameCaps;
  verification: Verification;

  /** Whether points of this game count for reward epochs; by default those of verified games do. */
  rewards?: boolean;

  /** Signs scores from now on; null removes it, absent keeps it. It is never shown again. */
  secret?: string | null;
};

export type GameState = {
  gameId: Slug;

  /** What was saved last; null when nothing was. */
  state: unknown;

  /** 0 when nothing was saved yet. */
  version: number;
  updatedAt: Instant | null;
};

export type GameStateSaved = { gameId: Slug; version: number; updatedAt: Instant };

export type GameStats = {
  gameId: Slug;
  totalPlays: number;

  /** Wallets that are listed on the game’s board. */
  uniquePlayers: number;

  /** Accepted scores. */
  totalScores: number;

  /** Of the normalized scores; null while there are none. */
  averageScore: number | null;

  /** The best normalized score; null while there are none. */
  bestScore: number | null;
};

export type GameSummary = { id: Slug; name: string; category: Slug; verification: Verification; version: number };

export type GlobalStats = {
  /** Wallets that are listed. */
  totalParticipants: number;

  /** All regular points, less those taken back. */
  totalPointsDistributed: number;

  /** What they are from; conversions are beta points made regular. */
  pointsBySource: { games: number; quests: number; referrals: number; conversions: number };

  /** The best listed score; null while nobody is listed. */
  topScore: number | null;

  /** Wallets that are listed. */
  participantsToday: number;

  /** Points of this UTC day. */
  pointsToday: number;
};

/** SHA-256 in hex. */
export type Hash = string;

export type HoldRequest = { reason: string };

export type Id = string;

export type ImportEpochRequest = {
  /** The epoch: UTC days since 1970-01-01. The day must have ended. */
  epoch: number;

  /** The root that the caller has computed; another one refuses the import. */
  root?: string;

  /** Who gets how much, base units; the leaves of the tree in this order. */
  distribution: { wallet: string; amount: string }[];
};

export type Instant = string;

/** What a stranger pins once, and checks everything else against. */
export type Keys = {
  /** The keys that sign receipts of entries, base58. */
  receipts: { id: string; algorithm: 'ed25519'; publicKey: Wallet }[];

  /** Whose memos are the commitments of rounds; null where this process was not told. */
  committer: Wallet | null;

  /** Whose memos were, the oldest first. Each key has a sequence of its own, and counts until the first commitment of the next. */
  formerCommitters: Wallet[];

  /** Whose tokens prizes are paid from. */
  treasury: Wallet | null;
  mints: {
    /** The arcade’s own token. */
    reward: Wallet | null;

    /** Stablecoin. */
    usdc: Wallet | null;
  };
  beacon: {
    /** Of the drand chain that decides draws. */
    chainHash: string;
    publicKey: string;

    /** Where it may be asked. */
    urls: string[];
  };
};

export type Leaderboard = LeaderboardEntry[];

export type LeaderboardEntry = {
  /** Competition rank: who has the same score shares it, the next rank is skipped. */
  rank: number;

  /** The wallet’s address. */
  wallet: string;
  score: number;
};

export type LegacyResult = {
  /** Its index, from 0. */
  winningTicket: number;
  winner: Wallet;

  /** Stablecoin base units. */
  prizePool: string;

  /** null where tickets were free: there is no prize. */
  payout: {
    paymentId: Id;

    /** How the payment goes; `completed` is final. */
    status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

    /** Of the transaction that paid it, from confirmed on. */
    signature: string | null;
  } | null;
};

export type LegacyRound = {
  id: string;

  /** pending: described. active: takes entries. closing: entries are frozen and go into a commitment. committed: it is final on the chain, and the beacon decides. finalized: drawn. void: over without a draw. */
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** How many were accepted. */
  entries: number;
  opensAt: Instant | null;
  closesAt: Instant | null;

  /** Root of the tree over all entries; null before they are frozen. */
  entriesRoot: string | null;
  commitment: RoundCommitment | null;

  /** The beacon’s round is an hour past, and nothing is drawn yet. */
  overdue: boolean;
  voidReason: 'no-entries' | 'late-block' | 'no-beacon' | 'entries-differ' | null;

  /** The void round whose entries these are. */
  predecessor: string | null;

  /** The round that goes on with the entries of this void one. */
  successor: string | null;
  createdAt: Instant;
  endedAt: Instant | null;
  createdBy: string;

  /** The price of all confirmed tickets, stablecoin base units. */
  prizePool: string;

  /** Stablecoin base units; "0": free. */
  ticketPrice: string;
  maxTickets: number | null;

  /** How a ticket is paid: exactly the price, in this mint, to this account, with this memo. null where tickets are free. */
  payTo: { mint: string; treasury: string; tokenAccount: string; memo: string } | null;
  winningTicket: number | null;
  winner: string | null;
};

export type LegacyRoundTerms = {
  /** Stablecoin base units; "0": free, one for each wallet. */
  ticketPrice: string;

  /** A million, where it is left out. */
  maxTickets?: number;

  /** In the future, at most 30 days ahead; 24 hours ahead where it is left out. */
  closesAt?: Instant;
};

export type Link = {
  platform: string;

  /** What names the account for ever. */
  accountId: string;

  /** What it is called now. */
  handle: string;
  linkedAt: Instant;
};

export type LinkStart = {
  platform: 'x';
  method: 'oauth' | 'challenge';

  /** Where to send the person: to sign in, and come back with `code` and `state`; or to write the post, its text filled in. */
  url: string;

  /** Of oauth: what the network brings back. Only this wallet can use it, once. */
  state: string | null;

  /** Of challenge: what the post must begin with. */
  challenge: string | null;

  /** Until when it is to be verified: ten minutes. */
  expiresAt: Instant;
};

export type LinkStartRequest = {
  /** The social network. */
  platform?: 'x';

  /** By signing in to the network, or by posting a text there. */
  method?: 'oauth' | 'challenge';
};

export type LinkVerifyRequest = {
  /** The social network. */
  platform?: 'x';

  /** What the network gave, with `state`. */
  code?: string;

  /** What `start` gave, and the network brought back. */
  state?: string;

  /** Instead of code and state: the post with the challenge. */
  postUrl?: unknown & unknown;

  /** Or its number. */
  postId?: string;
};

export type Me = {
  wallet: Wallet;

  /** Whether the wallet holds enough of the token; true where no token is configured, null while it is not known. */
  eligible: boolean | null;

  /** Base units of the token that the wallet holds; null where no token is configured, and while it is not known. */
  tokenBalance: string | null;
  session: { createdAt: Instant; expiresAt: Instant; lastExtendedAt: Instant };
};

export type ModePoints = {
  /** Of all time. */
  total: number;
  sources: PointSources;

  /** Of the current periods in UTC; conversions count for none. */
  periods: { day: PeriodPoints; week: PeriodPoints; month: PeriodPoints; year: PeriodPoints };

  /** Best first. */
  games: GameLine[];
};

export type NewQuest = {
  title: string;
  description?: string;
  category?: Slug;
  requirement: QuestRequirement;

  /** What it gives, before the multiplier. */
  points: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window?: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat?: 'once' | 'daily' | 'weekly';
  active?: boolean;

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task?: boolean;

  /** The burn event that it belongs to. */
  burnEventId?: Slug | null;

  /** Drawn where it is absent. */
  id?: Slug;
};

export type Normalization = {
  method: 'linear' | 'log' | 'piecewise';
  min: number;
  max: number;
  direction: 'higher' | 'lower';
  points?: { score: number; normalized: number }[];
};

export type NormalizationConfig = {
  /** The best normalized score. */
  scale: 10000;

  /** Points that one wallet may earn a day over all games. */
  dailyPointsCap: number;
  games: {
    id: Slug;
    normalization: Normalization;

    /** Points for a normalized score of 10,000. */
    pointsPer10000: number;
    caps: GameCapsOutput;
    verification: Verification;

    /** Whether its points count for reward epochs. */
    rewards: boolean;
  }[];
};

export type OweRequest = {
  wallet: Wallet;
  currency: 'usdc' | 'reward';

  /** Base units. */
  amount: string;

  /** Names what it is for. Nothing is owed twice under one reference. */
  reference: string;
};

export type OwnQuest = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;

  /** What it gives, before the multiplier. */
  points: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task: boolean;

  /** The burn event that it belongs to. */
  burnEventId: Slug | null;

  /** Per condition, as they are written in the requirement. */
  progress: {
    condition: QuestCondition;

    /** So far. Amounts of tokens are text. */
    have: number | string;

    /** In all. Amounts of tokens are text. */
    need: number | string;
    met: boolean;
  }[];

  /** Whether the whole requirement is met. */
  met: boolean;

  /** What is missing, in words. */
  missing: string[];

  /** What this completion is for: `once`, a UTC day, or an ISO week. */
  windowKey: string;

  /** Whether it was completed in this window. */
  completed: boolean;
  completedAt: Instant | null;

  /** With the multiplier of then. */
  pointsAwarded: number | null;

  /** When it can be completed anew (UTC); null where once is all. */
  resetsAt: Instant | null;
};

export type PastConversion = {
  id: Id;

  /** Regular points for a beta point. */
  rate: string;

  /** Beta points that were converted. */
  betaPoints: number;

  /** The regular points that they became. */
  points: number;
  at: Instant;
};

export type Payment = {
  id: Id;
  wallet: Wallet;
  currency: 'usdc' | 'reward';

  /** Base units. */
  amount: string;
  cause: { kind: string; id: string };
  payer: 'treasury' | 'orchestrator';

  /** pending: owed; batched: on its way; confirmed: landed, and may still vanish; completed: paid for good; manual: a person looks into it, it stays owed. Of the orchestrator’s: failed (still owed), reversed. */
  status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

  /** The transaction that paid it, from confirmed on. */
  signature: string | null;

  /** Why it is not paid yet. */
  reason: string | null;

  /** When it came to be owed. */
  timestamp: Instant;
  updatedAt: Instant;
  completedAt: Instant | null;
};

export type PaymentResolution = { signature: string };

export type PaymentStatus = {
  type: string;
  timestamp: string;
  data: {
    paymentId: Id;
    wallet: Wallet;

    /** Base units. */
    amount: string;
    currency: string;
    status: 'pending' | 'completed' | 'failed' | 'reversed';
    transactionSignature?: string | null;
  } & { [key: string]: unknown };
} & { [key: string]: unknown };

export type Payouts = {
  /** Why nothing is paid at the moment. */
  paused: string | null;

  /** What a person stopped payouts for. */
  held: string | null;

  /** What of the chain does not fit the record; when it is explained, payouts go on by themselves. */
  doubt: string | null;

  /** The treasury’s payments that are not completed, by status. */
  counts: { [key: string]: number };
  lanes: { lane: number; address: string; nonce: string | null; batch: Id | null; landed: string | null; stale: boolean }[];

  /** Transactions of lanes that the record did not know; unmatched ones first, at most 100. */
  findings: {
    signature: string;
    lane: number;
    slot: number;
    verdict: 'harmless' | 'unmatched' | 'matched' | 'acknowledged';
    reason: string | null;
    transfers: { to: string; mint: string; amount: string }[];
    payments: Id[];
    at: Instant;
  }[];
};

export type PendingAmount = {
  /** Base units. */
  amount: string;
  payments: number;
};

export type PendingStablecoin = {
  wallet: Wallet;
  currency: 'usdc';

  /** Base units that are owed and not finally paid; "0" where nothing is. */
  amount: string;
  payments: number;
};

export type Period = 'day' | 'week' | 'month' | 'year';

export type PeriodPoints = {
  /** All points of the period. */
  points: number;

  /** Those from games. */
  games: number;

  /** Those from quests. */
  quests: number;

  /** Those from referrals. */
  referrals: number;
};

export type PeriodStats = {
  period: Period;

  /** First day of the period. */
  from: Day;

  /** Last day of the period. */
  to: Day;

  /** Wallets that are listed. */
  participants: number;

  /** Points of the period, less those taken back in it. Conversions count for no period. */
  points: number;

  /** The best listed score; null while nobody is listed. */
  topScore: number | null;

  /** Points per participant; null while nobody is listed. */
  averageScore: number | null;
};

export type PlayReceipt = {
  playId: Id;
  gameId: Slug;
  startedAt: Instant;

  /** Where heartbeats go; null unless the game verifies by heartbeat. */
  heartbeatUrl: string | null;
};

/** What points are from. They add up to the total. */
export type PointSources = {
  /** From games. */
  games: number;

  /** From quests. */
  quests: number;

  /** From referrals. */
  referrals: number;

  /** Beta points that were made regular: what they became, or, among beta points, less what they were. */
  conversions: number;
};

export type PointsBreakdown = {
  wallet: Wallet;

  /** Where new points go. */
  mode: 'regular' | 'beta';
  regular: ModePoints;
  beta: ModePoints;
};

export type PossessRequest = {
  cabinetId: Slug;

  /** The entity or character that takes control. */
  by: string;
};

export type Prize = {
  /** Base units. */
  amount: string;

  /** The arcade’s own token, or stablecoin. */
  mint: 'reward' | 'usdc';
};

export type Profile = {
  wallet: Wallet;

  /** When the wallet first signed in. */
  memberSince: Instant;
  points: {
    /** Regular points of all time. */
    total: number;

    /** Of this UTC day; conversions count for no period. */
    today: number;

    /** Of this ISO week. */
    week: number;
    sources: PointSources;
  };

  /** Competition rank on the global leaderboard; null without points. */
  rank: number | null;

  /** Share of the listed wallets that rank no better, in percent; null without a rank. */
  percentile: number | null;

  /** Base units of the token that the wallet holds; null where no token is configured, and while it is not known. */
  tokenBalance: string | null;

  /** Whether the wallet holds enough of the token; null while it is not known. */
  eligible: boolean | null;

  /** What the wallet is owed and has not been paid. */
  pendingPayments: { usdc: PendingAmount; reward: PendingAmount };
  linkedAccounts: ProfileLink[];
  beta: {
    /** Whether new points are beta points. */
    enabled: boolean;

    /** Beta points not converted yet. */
    points: number;
  };
  games: {
    /** Games with an accepted score. */
    played: number;

    /** Accepted scores over all games. */
    scores: number;

    /** The games with the best scores, five at most. */
    top: GameLine[];
  };
};

export type ProfileLink = { platform: string; handle: string; linkedAt: Instant };

export type ProjectedReward = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  wallet: string;

  /** What the wallet would get if the day ended now. Base units. */
  amount: string;

  /** The wallet’s points of today that count. */
  points: number;
  breakdown: {
    /** What the day gave at most. Base units. */
    pool: string;

    /** What one wallet could get at most; null: all of it. */
    cap: string | null;

    /** Amounts below this are not paid. Base units. */
    dust: string;

    /** Points of all wallets today. */
    totalPoints: number;

    /** Wallets with points today. */
    participants: number;

    /** The wallet’s share of the points, percent, four decimals. */
    shareOfPoints: number;

    /** Whether the cap decided. */
    capped: boolean;

    /** Whether the amount is too small to be paid. */
    belowDust: boolean;

    /** Which formula shared the pool out. */
    formulaVersion: number;
  };

  /** Of when the other wallets’ points are; null before the first were counted. */
  asOf: Instant | null;
};

export type Quest = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;

  /** What it gives, before the multiplier. */
  points: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task: boolean;

  /** The burn event that it belongs to. */
  burnEventId: Slug | null;
};

export type QuestCompleted = {
  questId: QuestId;
  wallet: string;
  window: string;
  pointsAwarded: number;
  factors: QuestFactors;
  completedAt: Instant;

  /** The admin token. */
  by: string;
};

export type QuestCondition =
  | {
      type: 'plays';

      /** How many. */
      count: number;

      /** Only this game. Without it, every game that earns rewards counts: what nobody verifies counts only where it is named. */
      gameId?: Slug;
    }
  | {
      type: 'scores';

      /** How many. */
      count: number;

      /** Only this game. Without it, every game that earns rewards counts: what nobody verifies counts only where it is named. */
      gameId?: Slug;
    }
  | {
      type: 'bestScore';
      atLeast: number;

      /** Only this game. Without it, every game that earns rewards counts: what nobody verifies counts only where it is named. */
      gameId?: Slug;
    }
  | {
      type: 'clips';

      /** How many. */
      count: number;
    }
  | { type: 'follow' }
  | {
      type: 'repost';

      /** How many. */
      count: number;
    }
  | {
      type: 'mention';

      /** How many. */
      count: number;
    }
  | {
      type: 'referrals';

      /** How many. */
      count: number;
    }
  | {
      type: 'burned';
      amount: string;

      /** Only burns of this event; of the quest’s own event where it has one. */
      eventId?: Slug;
    }
  | { type: 'streak'; days: number }
  | { type: 'manual' };

export type QuestDetail = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;

  /** What it gives, before the multiplier. */
  points: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task: boolean;

  /** The burn event that it belongs to. */
  burnEventId: Slug | null;
  active: boolean;
  createdAt: Instant;
  updatedAt: Instant;

  /** In all windows, under the versions that are listed. */
  completions: number;
  pointsAwarded: number;

  /** The newest hundred, newest first. */
  versions: {
    version: number;
    at: Instant;
    by: string;
    completions: number;
    pointsAwarded: number;
    definition: {
      title: string;
      description: string;
      category: Slug;
      requirement: QuestRequirement;

      /** What it gives, before the multiplier. */
      points: number;

      /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
      window: { startsAt?: Instant; endsAt?: Instant };

      /** Once at all, once a UTC day, or once an ISO week. */
      repeat: 'once' | 'daily' | 'weekly';
      active: boolean;

      /** A daily task: the wallet completes it itself, once its requirement is met. */
      task: boolean;

      /** The burn event that it belongs to. */
      burnEventId: Slug | null;
    };
  }[];
};

export type QuestEntry = { questId: QuestId; window: string; points: number; mode: 'regular' | 'beta'; timestamp: Instant; factors: QuestFactors };

/** points = floor(basePoints × multiplier). */
export type QuestFactors = {
  /** The version of the multiplier’s rule. */
  rule: number;
  questVersion: number;

  /** Before the multiplier. */
  basePoints: number;

  /** With two decimals. */
  multiplier: number;

  /** Consecutive UTC days with any activity; all but the first add 5 %, up to 50 %. */
  streakDays: number;

  /** Whether an account elsewhere is linked: 10 %. */
  linked: boolean;

  /** Whether the wallet holds enough of the reward token: 15 %; null where that is not known, which adds nothing. */
  holding: boolean | null;
};

export type QuestForOperators = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;

  /** What it gives, before the multiplier. */
  points: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task: boolean;

  /** The burn event that it belongs to. */
  burnEventId: Slug | null;
  active: boolean;
  createdAt: Instant;
  updatedAt: Instant;
};

export type QuestId = Slug;

export type QuestMultiplier = {
  /** With two decimals. */
  multiplier: number;

  /** With two decimals. */
  max: number;
  factors: {
    streak: {
      /** With two decimals. */
      bonus: number;

      /** Consecutive UTC days with any activity; all but the first add 5 %, up to 50 %. */
      days: number;
    };
    linkedAccount: {
      /** With two decimals. */
      bonus: number;

      /** Whether an account elsewhere is linked: 10 %. */
      linked: boolean;
    };
    holding: {
      /** With two decimals. */
      bonus: number;

      /** Whether the wallet holds enough of the reward token: 15 %; null where that is not known, which adds nothing. */
      holding: boolean | null;
    };
  };
};

export type QuestPatch = {
  title?: string;
  description?: string;
  category?: Slug;
  requirement?: QuestRequirement;

  /** What it gives, before the multiplier. */
  points?: number;

  /** When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt. */
  window?: { startsAt?: Instant; endsAt?: Instant };

  /** Once at all, once a UTC day, or once an ISO week. */
  repeat?: 'once' | 'daily' | 'weekly';
  active?: boolean;

  /** A daily task: the wallet completes it itself, once its requirement is met. */
  task?: boolean;

  /** The burn event that it belongs to. */
  burnEventId?: Slug | null;
};

/** A condition, or `{ all: […] }` or `{ any: […] }`, nested up to 3 deep, of at most 20 conditions. */
export type QuestRequirement = QuestRequirement1;

export type QuestRequirement1 = QuestCondition | { all: QuestRequirement2[] } | { any: QuestRequirement2[] };

export type QuestRequirement2 = QuestCondition | { all: QuestRequirement3[] } | { any: QuestRequirement3[] };

export type QuestRequirement3 = QuestCondition | { all: QuestCondition[] } | { any: QuestCondition[] };

export type QuestStats = {
  /** Wallets that are listed. */
  totalParticipants: number;

  /** All regular quest points, less those taken back. */
  totalPointsDistributed: number;

  /** The best listed score; null while nobody is listed. */
  topScore: number | null;

  /** Wallets that are listed. */
  participantsToday: number;

  /** Quest points of this UTC day. */
  pointsToday: number;
};

export type Readiness = {
  /** ok when every check is. */
  status: 'ok' | 'failed';
  checks: {
    /** The database answers. */
    postgresql: 'ok' | 'failed';

    /** The database has every migration that this process was built with. */
    migrations: 'ok' | 'failed';

    /** Redis answers. */
    redis: 'ok' | 'failed';
  };
};

export type RecordReceipt = {
  recordId: Id;

  /** The record’s place among those of the wallet in the game. */
  sequence: number;

  /** SHA-256(previousHash ‖ the record as canonical JSON, RFC 8785). */
  hash: Hash;

  /** The hash of the record before; all zeros for the first. */
  previousHash: Hash;
  recordedAt: Instant;
};

export type ReferralBinding = {
  /** The caller, from now on referred. */
  wallet: Wallet;

  /** Who referred it. */
  referrer: string;

  /** Eight digits and capital letters without I, L, O and U; read in any case, O as 0, I and L as 1. */
  code: string;
  boundAt: Instant;
};

export type ReferralLink = {
  /** Eight digits and capital letters without I, L, O and U; read in any case, O as 0, I and L as 1. */
  code: string;

  /** What to share. */
  url: string;
  createdAt: Instant;
};

export type ReferralStats = {
  /** The newest first. */
  links: {
    /** Eight digits and capital letters without I, L, O and U; read in any case, O as 0, I and L as 1. */
    code: string;

    /** What to share. */
    url: string;
    createdAt: Instant;

    /** Wallets bound by this code. */
    bindings: number;

    /** Those of them that are verified. */
    verified: number;
  }[];
  conversion: {
    /** Wallets that were bound. */
    bound: number;

    /** A verified one has a score in a verified game: from that one on its scores earn points for the referrer. */
    verified: number;

    /** verified of bound; null while nobody is bound. */
    percent: number | null;
  };
  active: {
    /** Referred wallets that scored in the last 7 days. */
    last7Days: number;

    /** Referred wallets that scored in the last 30 days. */
    last30Days: number;
  };
  earnings: {
    /** Regular points earned by referrals, less those taken back. */
    points: number;

    /** The same in beta mode. */
    betaPoints: number;

    /** The last 30 UTC days, oldest first, today last. */
    byDay: {
      day: Day;

      /** Regular points of the day, less those taken back on it: may be below zero. */
      points: number;
    }[];

    /** The ten that earned most. */
    topWallets: {
      /** A referred wallet. */
      wallet: string;

      /** Regular points earned by its scores. */
      points: number;
    }[];
  };

  /** The cap of this UTC day. */
  today: {
    /** Points that a referrer may earn by referrals a day, both modes together. */
    cap: number;

    /** Earned today. What is taken back stays used. */
    used: number;

    /** What is left of the cap. */
    left: number;

    /** The next UTC midnight. */
    resetsAt: Instant;
  };
};

export type ReferralSummary = {
  /** Wallets that the caller referred. */
  referralCount: number;

  /** A verified one has a score in a verified game: from that one on its scores earn points for the referrer. */
  verifiedReferrals: number;

  /** An active one scored in the last 30 days, since it was bound; scores that were taken back at once do not count. */
  activeReferrals: number;

  /** Regular points earned by referrals, less those taken back. */
  pointsEarned: number;

  /** The same in beta mode. */
  betaPointsEarned: number;
  referredBy: string | null;
};

export type ReferredWallet = {
  /** The referred wallet. */
  wallet: string;
  boundAt: Instant;

  /** Since when its scores earn points; null until its first score in a verified game. */
  verifiedAt: Instant | null;

  /** An active one scored in the last 30 days, since it was bound; scores that were taken back at once do not count. */
  active: boolean;

  /** Regular points earned by its scores. */
  points: number;
};

export type ReleaseRequest = {
  /** The unmatched transactions that you have looked into; it must be all of them. What they paid is not marked as paid. */
  acknowledge?: string[];

  /** Lanes whose nonce account is to be taken as it stands, though it is not known who used it. */
  acceptLanes?: number[];
};

export type ResolveRequest = {
  /** An address, a name that ends in .sol or .sns, or @handle. */
  identifier: string;
};

export type ResolvedWallet = {
  /** As it was asked for. */
  identifier: string;
  wallet: Wallet;

  /** What the identifier was. */
  source: 'address' | 'sol' | 'sns' | 'handle';

  /** Whether the wallet can have a key; false for the address of a program, which only that program can spend from. */
  onCurve: boolean;
};

export type RewardEpoch = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  date: Day;

  /** computing: being made. empty: nothing to pay, it never goes on the chain. computed: leaves and root are fixed. committed: the root is on the chain, funded, and can be claimed. expired: that is over. settled: what was not claimed is settled off-chain. */
  status: 'computing' | 'empty' | 'computed' | 'committed' | 'expired' | 'settled';

  /** Computed from points, or imported. */
  source: 'computed' | 'import';

  /** Root of the tree, SHA-256 in hex; null while there is none. */
  root: string | null;

  /** What all leaves amount to, base units. */
  total: string | null;

  /** What of the pool is not given, base units; it stays. */
  undistributed: string | null;

  /** Wallets that are paid. */
  leaves: number | null;

  /** Wallets with points, or of the import. */
  wallets: number | null;

  /** Their points; null for an import. */
  points: number | null;

  /** What the day gave at most. Base units. */
  pool: string;

  /** What one wallet could get at most; null: all of it. */
  cap: string | null;

  /** Amounts below this are not paid. Base units. */
  dust: string;

  /** How long it can be claimed once it is on the chain, days. */
  expiryDays: number;

  /** Version of the rules that it was begun under; 0: the defaults. */
  rulesVersion: number;

  /** Which formula shared the pool out. */
  formulaVersion: number;

  /** When it was computed; until then, when it was begun. */
  timestamp: Instant;
  committedAt: Instant | null;

  /** The transaction that put the root on the chain. */
  commitSignature: string | null;

  /** Until when it can be claimed; known once it is committed. */
  expiresAt: Instant | null;
  settleRequestedAt: Instant | null;
  settledAt: Instant | null;

  /** Where it is on the chain; null until its root is there, finally. */
  onChain: RewardEpochOnChain | null;
};

export type RewardEpochOnChain = {
  /** The distributor program. */
  program: string;

  /** Who opened it, and alone can settle it. */
  authority: string;

  /** The token. */
  mint: string;

  /** The epoch’s account: root, total, what is claimed. */
  account: string;

  /** The token account that holds what is not claimed yet. */
  vault: string;

  /** What has been claimed, finally. Base units. */
  claimed: string;

  /** By how many wallets. */
  claims: number;
};

export type RewardPoolToday = {
  /** UTC days since 1970-01-01. */
  epoch: number;

  /** What the day gave at most. Base units. */
  pool: string;

  /** What one wallet could get at most; null: all of it. */
  cap: string | null;

  /** Amounts below this are not paid. Base units. */
  dust: string;

  /** Wallets with points today. */
  participants: number;

  /** Their points. */
  points: number;

  /** What they would get if the day ended now. Base units. */
  total: string;

  /** What of the pool would stay. Base units. */
  undistributed: string;

  /** How the pool is spread: what the best 1, 5, 10, 25, 50, 75 and 100 percent get. Empty before the first points. */
  distribution: {
    /** Percent of the wallets, those that get most. */
    top: number;
    wallets: number;

    /** What they get together. Base units. */
    amount: string;

    /** Percent of the pool, two decimals. */
    share: number;
  }[];
  endsAt: Instant;

  /** Of when the points are. */
  timestamp: Instant;
};

export type RewardProof = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  wallet: string;

  /** The leaf’s place in the tree. */
  index: number;

  /** Base units. */
  amount: string;

  /** The siblings from the leaf up, SHA-256 in hex. */
  proof: string[];

  /** Where the proof leads. */
  root: string;
};

export type RewardRulesRequest = {
  /** What one day gives at most, base units. */
  pool: string;

  /** What one wallet gets of a day at most; null: all of it. */
  cap?: string | null;

  /** Amounts below this are not paid. */
  dust?: string;

  /** How long an epoch can be claimed from when it is on the chain, days. */
  expiryDays?: number;

  /** Whether days that have ended are computed by themselves; otherwise they wait for a trigger or an import. */
  automatic?: boolean;
};

export type RewardsConfig = {
  /** Of the rules; 0: nobody has set any, these are the defaults. */
  version: number;

  /** What one day gives at most. Base units. */
  pool: string;

  /** What one wallet gets of a day at most; null: all of it. */
  cap: string | null;

  /** Amounts below this are not paid. Base units. */
  dust: string;

  /** How long an epoch can be claimed from when it is on the chain, days. */
  expiryDays: number;

  /** Whether days that have ended are computed by themselves. */
  automatic: boolean;

  /** The token that is given; null where none is configured. */
  mint: string | null;

  /** Which formula shared the pool out. */
  formulaVersion: number;

  /** How a day’s pool is shared out. */
  distribution: { period: 'day'; share: string; cap: string; rounding: string; dust: string };
};

/** Everything that went into a draw and came out of it; later parts are null until the round has come that far. With the entries it is all that `bin/verify-round` needs besides the chain and the beacon’s key. */
export type RoundAudit = {
  version: 1;
  round: string;
  void: 'no-entries' | 'late-block' | 'no-beacon' | 'entries-differ' | null;
  parameters:
    | {
        version: 1;
        kind: 'chat';
        round: string;
        picks: number;
        range: number;
        prizes: { amount: string; mint: Wallet }[];
        maxEntriesPerWallet: number;
        opensAt: string;
        closesAt: string;
        leadSec: number;
        marginSec: number;
      }
    | {
        version: 1;
        kind: 'legacy';
        round: string;
        ticketPrice: string;
        mint: Wallet;
        treasury: Wallet;
        maxTickets: number | null;
        opensAt: string;
        closesAt: string;
        leadSec: number;
        marginSec: number;
      };
  parametersHash: string;
  entries: { count: number; root: string | null };
  commitment: {
    memo: string;
    committer: Wallet;
    signature: string;
    slot: number;
    blockhash: string;
    blockTime: string;
    sequence: number;
    previous: string;
    hash: string;
  } | null;
  beacon: {
    chainHash: string;
    scheme: 'bls-unchained-g1-rfc9380';
    publicKey: string;
    period: number;
    genesisTime: number;
    groupHash: string;
    beaconId: string;
    round: number;
    dueAt: string;
    signature: string | null;
    randomness: string | null;
  } | null;
  draw: {
    seed: string;
    label: 'numbers/1' | 'ticket/1';
    draws: { counter: number; bound: number; raw: string; rejected: string[]; value: number }[];
    drawn: number[];
    numbers: number[];
  } | null;
  winners:
    | {
        place: number;
        index: number;
        wallet: Wallet;
        matches: number | null;
        tie: string | null;
        prize: { amount: string; mint: Wallet };
        leaf: string;
        proof: string[];
      }[]
    | null;
  entryHashes: string[];
};

export type RoundCommitment = {
  sequence: number;

  /** Of the transaction whose memo it is. */
  signature: string;
  hash: string;

  /** The beacon’s round that decides. */
  beaconRound: number;
  dueAt: Instant;
};

export type RoundEntry = {
  /** The entry. */
  id: string;

  /** Its place in the order in which entries were accepted, from 0 on. */
  index: number;
  wallet: Wallet;

  /** Ascending; none for a ticket. */
  numbers: number[];

  /** Where it came from: the service’s own chat, a bridged one, the chain. */
  source: string;

  /** The message there; a transaction’s signature for a ticket that was paid for. */
  messageId: string;
  at: string;

  /** Its hash in the tree over all entries. */
  leaf: string;
};

export type RoundPayouts = {
  round: string;

  /** completed: every prize is paid for good. none: nobody won. */
  status: 'none' | 'pending' | 'completed';

  /** The transactions that paid prizes, by place. */
  signatures: string[];
  payouts: {
    /** 1 is first. */
    place: number;
    wallet: Wallet;
    prize: WonPrize;
    paymentId: string;

    /** As a payment’s: pending, batched, confirmed, completed, … */
    status: string;

    /** The transaction that paid it, from confirmed on. */
    signature: string | null;
    completedAt: Instant | null;
  }[];
};

export type RoundPost = {
  /** Weighs at most 280 as X counts: a link 23, an emoji or a CJK character 2. */
  text: string;
  media: {
    type: 'image/png';

    /** The round’s card, a PNG of 1200 × 630. */
    url: string;
    width: number;
    height: number;

    /** What the picture shows, for those who do not see it. */
    alt: string;
  }[];

  /** This summary. */
  url: string;
};

export type ScoreDetail = {
  scoreId: Id;
  wallet: Wallet;
  gameId: Slug;
  status: ScoreStatus;
  score: number;
  normalizedScore: number;
  pointsAwarded: number;
  mode: 'regular' | 'beta';
  playId: Id | null;
  durationMs: number | null;
  reasons: string[];
  submittedAt: Instant;
  decidedAt: Instant | null;
  decidedBy: string | null;
};

export type ScoreRank = {
  rank: number | null;
  score: number;
  percentile: number | null;

  /** What is missing to the next better score; null for the best and the unranked. */
  pointsToNext: number | null;
  neighbours: { rank: number; wallet: string; score: number }[];
};

export type ScoreReceipt = {
  scoreId: Id;
  status: ScoreStatus;
  normalizedScore: number;
  pointsAwarded: number;
  personalBest: boolean;

  /** The wallet’s place on the game’s all-time board, read after the commit. */
  rank: ScoreRank;
};

export type ScoreRequest = {
  gameId: Slug;

  /** The raw score, within min and max of the game’s normalization. */
  score: number;

  /** Required unless the game’s verification is none. */
  playId?: Id;
  durationMs?: number;

  /** A running battle of this game that you sit in. The score counts for it if it is accepted before the battle ends; one that is held, if it is accepted by then. */
  battleId?: Id;

  /** Where the game has a secret: hex HMAC-SHA256(secret, `v1:{playId}:{wallet}:{score}:{durationMs}`). */
  signature?: string;
};

export type ScoreStatus = 'accepted' | 'held' | 'rejected' | 'voided';

export type SettleRequest = {
  /** Numbers of epochs. */
  epochs: number[];
};

export type Settlements = {
  epochs: {
    epoch: number;

    /** settling: until the chain has it, finally. */
    status: 'settled' | 'settling';
    settledAt: Instant | null;
  }[];
};

export type SharedPrize = {
  /** Base units. */
  amount: string;
  mint: 'reward' | 'usdc';

  /** For people. */
  text: string;
};

export type SharedRound = {
  id: string;
  kind: 'chat' | 'legacy';
  title: string;
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** The round in one or two sentences. */
  text: string;

  /** Entries, or tickets. */
  entries: number;
  opensAt: Instant | null;
  closesAt: Instant | null;
  endedAt: Instant | null;
  voidReason: 'no-entries' | 'late-block' | 'no-beacon' | 'entries-differ' | null;

  /** The round that goes on with the entries of this void one. */
  successor: string | null;

  /** Ascending; null before the draw, and in a legacy round. */
  numbers: number[] | null;

  /** Its index, from 0; null before the draw, and in a chat round. */
  winningTicket: number | null;

  /** All prizes added up; null where there are none. */
  prize: string | null;

  /** The k-th winner gets the k-th. */
  prizes: SharedPrize[];

  /** The first of them; empty before the draw. */
  winners: { place: number; wallet: Wallet; prize: SharedPrize }[];

  /** How many wallets won; null before the draw. */
  winnersTotal: number | null;
  verify: {
    /** Recomputes the round from public data. */
    command: string;

    /** null before the entries are frozen. */
    entriesRoot: string | null;

    /** What the draw was made from; null before it. */
    seed: string | null;
  };
  links: {
    /** This summary. */
    summary: string;

    /** The round itself. */
    round: string;

    /** Every entry. */
    entries: string;

    /** All that a stranger needs to draw the round again; from closing on. */
    audit: string;

    /** The keys and addresses to check it against. */
    verify: string;

    /** The round’s card, a PNG of 1200 × 630. */
    card: string;

    /** The round as a post. */
    post: string;
  };

  /** What a page that shows the round puts into its Open Graph tags. */
  meta: {
    title: string;
    description: string;

    /** The round’s card, a PNG of 1200 × 630. */
    image: string;
    imageWidth: number;
    imageHeight: number;
    imageAlt: string;

    /** This summary. */
    url: string;
  };
};

/** What a wallet’s `solana:signIn` takes. */
export type SignInInput = {
  /** Host and port of the page that signs in. */
  domain: string;
  statement: string;
  uri: string;
  version: '1';
  chainId: string;
  nonce: string;
  issuedAt: Instant;
  expirationTime: Instant;
};

/** Good for one sign-in, within five minutes. */
export type SignInNonce = { nonce: string; signInInput: SignInInput; expiresAt: Instant };

export type SignInProof = {
  publicKey: Wallet;

  /** The signed text, or the base64 of its UTF-8 bytes. */
  message?: string;

  /** Of the text: 64 bytes, base58 or base64. */
  signature?: string;

  /** Instead of message and signature, for hardware wallets: base64 of a signed legacy or version 0 transaction that can never land. publicKey is its one signer and fee payer, its blockhash is sha256("coinop/sign-in" ‖ nonce), and its one instruction gives the text to the memo program (MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr), without accounts. */
  transaction?: string;
};

export type SignedIn = {
  wallet: Wallet;

  /** When the session ends unless it is used; use extends it. */
  expiresAt: Instant;
};

export type SignedOut = { signedOut: true };

export type Slug = string;

export type SolPrice = {
  /** USD for one SOL. */
  price: number;
};

export type TaskCompleted = { pointsAwarded: number; factors: QuestFactors; task: OwnQuest };

export type Theme = {
  theme: { [key: string]: unknown };

  /** 0 while nobody has set one. */
  version: number;
};

/** A JSON merge patch (RFC 7386): objects are merged, null removes a member, anything else replaces. */
export type ThemePatch = { [key: string]: unknown };

export type Ticket = {
  ticketId: Id;
  roundId: string;
  wallet: Wallet;

  /** checking: the transaction is waited for. confirmed: it counts. refused: it does not. refunded: it counted, and the round was void. What a refused or refunded ticket was paid with is paid back. */
  status: 'checking' | 'confirmed' | 'refused' | 'refunded';

  /** Its index among the tickets of the round, from 0: what is drawn. null where it does not count. */
  ticketNumber: number | null;

  /** null where tickets are free. */
  transaction: {
    signature: string;

    /** pending: not known to be final yet. */
    status: 'pending' | 'finalized' | 'not-found';
  } | null;

  /** Shows that the ticket was accepted; null where it does not count. */
  receipt: EntryReceipt | null;

  /** Why it was refused. */
  reason: string | null;

  /** What is paid back: one for each currency. */
  refunds: TicketRefund[];
  requestedAt: Instant;
  decidedAt: Instant | null;
};

export type TicketRefund = {
  paymentId: Id;

  /** Base units. */
  amount: string;
  currency: 'usdc' | 'reward';

  /** How the payment goes; `completed` is final. */
  status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

  /** Of the transaction that paid it back. */
  signature: string | null;
};

export type TicketRequest = {
  /** The signature of the transaction that pays for the ticket; left out where tickets are free. */
  transaction?: string;
};

export type TriggerEpochRequest = {
  /** UTC days since 1970-01-01; by default the last day that has ended. */
  epoch?: number;
};

export type UserStats = {
  wallet: Wallet;

  /** When the wallet first signed in. */
  memberSince: Instant;

  /** Regular points of all time. */
  points: number;

  /** Competition rank on the global leaderboard; null without points. */
  rank: number | null;

  /** Share of the listed wallets that rank no better, in percent; null without a rank. */
  percentile: number | null;

  /** Games with an accepted score. */
  gamesPlayed: number;

  /** Accepted scores over all games. */
  scores: number;

  /** Best first. */
  games: GameLine[];
};

/** How scores are believed: none = not at all; play = by a play; heartbeat = by a play whose session sends a heartbeat every 5 s. */
export type Verification = 'none' | 'play' | 'heartbeat';

export type VoidRequest = { reason: string };

/** A Solana address: base58 of 32 bytes. */
export type Wallet = string;

export type WebhookDelivery = {
  source: 'payment-status' | 'chat-bridge' | 'x';

  /** `webhook-id`; of X the hex SHA-256 of the body. */
  id: string;

  /** received: it waits, or is being worked on. */
  state: 'received' | 'worked' | 'failed';

  /** What came of it, or of the last try; null before the first. */
  verdict: string | null;

  /** Tries, since it was replayed. */
  attempts: number;

  /** Size of the body. */
  bytes: number;
  receivedAt: Instant;
  replayedAt: Instant | null;
  settledAt: Instant | null;
};

export type WebhookDeliveryWithBody = {
  source: 'payment-status' | 'chat-bridge' | 'x';

  /** `webhook-id`; of X the hex SHA-256 of the body. */
  id: string;

  /** received: it waits, or is being worked on. */
  state: 'received' | 'worked' | 'failed';

  /** What came of it, or of the last try; null before the first. */
  verdict: string | null;

  /** Tries, since it was replayed. */
  attempts: number;

  /** Size of the body. */
  bytes: number;
  receivedAt: Instant;
  replayedAt: Instant | null;
  settledAt: Instant | null;

  /** As it came. */
  body: string;
};

export type Winner = {
  /** 1 is first. */
  place: number;
  wallet: Wallet;
  prize: WonPrize;

  /** The entry. */
  entryId: string;

  /** Its place in the order in which entries were accepted, from 0 on. */
  entryIndex: number;

  /** How many of the entry’s numbers were drawn. */
  matches: number;
};

export type WinningNumbers = {
  round: string;

  /** Ascending. */
  numbers: number[];
  proof: {
    seed: string;

    /** raw = u64 LE of HMAC-SHA256(seed, label ‖ counter u64 LE). */
    label: string;
    draws: DrawnInteger[];

    /** In the order drawn: Fisher–Yates over 1 to the range. */
    drawn: number[];

    /** seed = SHA-256 over these in this order, each after its length in bytes as u32 LE; the beacon’s round is u64 LE. */
    seedFrom: {
      label: 'coinop/draw/1';
      round: string;
      entriesRoot: string;
      parametersHash: string;
      chainHash: string;
      beaconRound: number;
      randomness: string;
      blockhash: string;
    };
    beacon: {
      /** Of the drand chain, on G2. */
      publicKey: string;

      /** Of its round, on G1: randomness = sha256(signature). */
      signature: string;
      dueAt: Instant;
    };
    commitment: {
      sequence: number;

      /** What was bound on the chain before the beacon’s round existed. */
      memo: string;

      /** Of its transaction. */
      signature: string;
      slot: number;
      blockTime: Instant;
    };
  };
};

export type WonPrize = {
  /** Base units. */
  amount: string;
  mint: 'reward' | 'usdc';

  /** Of the mint. */
  address: Wallet;
};

export type XDelivery = {
  /** Of the X Activity API: one event. */
  data?: unknown;

  /** Of the Account Activity API: whose events these are. */
  for_user_id?: unknown;

  /** Of the Account Activity API. */
  follow_events?: unknown;

  /** Of the Account Activity API. */
  tweet_create_events?: unknown;
} & { [key: string]: unknown };

export type __schema0 = string | number | boolean | null | __schema0[] | { [key: string]: __schema0 };

export type __schema1 = string | number | boolean | null | __schema1[] | { [key: string]: __schema1 };

/** Every endpoint by method and path: what it takes, what it answers by status, and which statuses refuse with an error. */
export interface Endpoints {
  get: {
    /**
     * The keys and addresses that rounds are checked against.
     *
     * Whoever wants to trust nobody reads them once, from here or elsewhere, and keeps them.
     */
    '/.well-known/coinop-keys': { answers: { 200: Keys; 304: null }; refusals: 500 | 503 };

    /**
     * What was done with admin tokens, newest first.
     *
     * Every action is written down before it is carried out, each entry hashed with the one before: nobody can change or remove one unnoticed.
     */
    '/admin/audit': { query?: { limit?: number; offset?: number }; answers: { 200: AuditEntry[] }; refusals: 400 | 403 | 500 | 503 };

    /**
     * Payments by payer, status, currency and wallet, oldest first.
     *
     * The orchestrator reads what it is to pay from ?payer=orchestrator&status=pending.
     */
    '/admin/payments': {
      query?: {
        limit?: number;
        offset?: number;
        payer?: 'treasury' | 'orchestrator';
        status?: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';
        currency?: 'usdc' | 'reward';
        wallet?: Wallet;
      };
      answers: { 200: Payment[] };
      refusals: 400 | 403 | 500 | 503;
    };

    /** One payment. */
    '/admin/payments/{id}': { params: { id: Id }; answers: { 200: Payment }; refusals: 400 | 403 | 404 | 500 | 503 };

    /** How payouts stand: paused or not, lanes, what does not fit. */
    '/admin/payouts': { answers: { 200: Payouts }; refusals: 403 | 500 | 503 };

    /** Scores that wait for a decision, oldest first. */
    '/admin/scores': {
      query?: { limit?: number; offset?: number; status?: 'held' };
      answers: { 200: ScoreDetail[] };
      refusals: 400 | 403 | 500 | 503;
    };

    /** Chain transactions that need a person, or have failed. */
    '/admin/transactions': {
      query?: { limit?: number; offset?: number; state?: 'manual' | 'failed' };
      answers: { 200: ChainTransaction[] };
      refusals: 400 | 403 | 500 | 503;
    };

    /**
     * What came by webhook, newest first, and what became of it.
     *
     * `X-Total-Count` counts no further than 10,000. What is done with is forgotten 30 days after it came.
     */
    '/admin/webhooks': {
      query?: {
        limit?: number;
        offset?: number;
        source?: 'payment-status' | 'chat-bridge' | 'x';

        /** received: it waits, or is being worked on. */
        state?: 'received' | 'worked' | 'failed';
      };
      answers: { 200: WebhookDelivery[] };
      refusals: 400 | 403 | 500 | 503;
    };

    /** A delivery with its body. */
    '/admin/webhooks/{source}/{id}': {
      params: {
        source: 'payment-status' | 'chat-bridge' | 'x';

        /** `webhook-id`; of X the hex SHA-256 of the body. */
        id: string;
      };
      answers: { 200: WebhookDeliveryWithBody };
      refusals: 400 | 403 | 404 | 500 | 503;
    };

    /** Whether the caller plays in beta mode. */
    '/api/beta/preference': { answers: { 200: BetaPreference }; refusals: 401 | 500 | 503 };

    /**
     * What one is owed, and what one was paid.
     *
     * Prizes and refunds, newest first, each with how it goes and, once it has landed, its transaction.
     */
    '/api/me/payments': { query?: { limit?: number; offset?: number }; answers: { 200: Payment[] }; refusals: 400 | 401 | 500 | 503 };

    /**
     * The price of SOL in USD.
     *
     * At most 30 seconds old; while its source fails, at most 10 minutes. 503 where there is none.
     */
    '/api/price/sol': { answers: { 200: SolPrice; 304: null }; refusals: 500 | 503 };

    /**
     * The caller’s profile.
     *
     * Points, rank, what is owed, linked accounts, games. Does not wait for the chain: what it does not tell within 0.3 seconds is null here, and asked for at `/eligibility`.
     */
    '/api/profile': { answers: { 200: Profile }; refusals: 401 | 500 | 503 };

    /** The caller’s beta points. */
    '/api/profile/beta-points': { answers: { 200: BetaPoints }; refusals: 401 | 500 | 503 };

    /**
     * What the caller did in beta mode.
     *
     * Beta points are ranked nowhere.
     */
    '/api/profile/beta-stats': { answers: { 200: BetaStats }; refusals: 401 | 500 | 503 };

    /**
     * The caller’s referral link.
     *
     * The newest one; made where there is none.
     */
    '/api/referral/link': { answers: { 200: ReferralLink }; refusals: 401 | 500 | 503 };

    /** The wallets that the caller referred, newest first. */
    '/api/referral/referred': { query?: { limit?: number; offset?: number }; answers: { 200: ReferredWallet[] }; refusals: 400 | 401 | 500 | 503 };

    /**
     * How the caller’s links and referrals do.
     *
     * What a score earned counts on the day on which it was given, normally within a second.
     */
    '/api/referral/stats': { answers: { 200: ReferralStats }; refusals: 401 | 500 | 503 };

    /** What the caller’s referrals amount to. */
    '/api/referral/summary': { answers: { 200: ReferralSummary }; refusals: 401 | 500 | 503 };

    /** How a claim stands. */
    '/api/rewards/claims/{id}': { params: { id: Id }; answers: { 200: Claim }; refusals: 400 | 404 | 500 | 503 };

    /**
     * A reward epoch.
     *
     * Here is also how an epoch stands that is being computed or imported.
     */
    '/api/rewards/epoch/{epoch}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      answers: { 200: RewardEpoch; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * All that an epoch was made of.
     *
     * NDJSON. The first line has the rules, the sums and the root; then comes every wallet with points, `{ index, wallet, points, amount }`: the leaves in the order of the tree, then those that are not paid (index null, amount "0"). From it anybody can compute every amount and the root again. It never changes, and may be kept for ever.
     */
    '/api/rewards/epoch/{epoch}/leaves': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      answers: { 200: Response; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * What proves a wallet’s reward of an epoch.
     *
     * leaf = SHA-256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE); node = SHA-256(min ‖ max); an odd node moves up as it is. It never changes, and may be kept for ever.
     */
    '/api/rewards/epoch/{epoch}/proof/{wallet}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;

        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      answers: { 200: RewardProof; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /** All reward epochs, by number. */
    '/api/rewards/epochs': {
      query?: {
        limit?: number;
        offset?: number;

        /** By number: asc = oldest first, desc = newest first. */
        order?: 'asc' | 'desc';
      };
      answers: { 200: RewardEpoch[] };
      refusals: 400 | 500 | 503;
    };

    /**
     * Epochs whose root is on the chain.
     *
     * By number. Those that were settled off-chain are not among them; those whose time is over have the status expired.
     */
    '/api/rewards/epochs/committed': {
      query?: {
        limit?: number;
        offset?: number;

        /** By number: asc = oldest first, desc = newest first. */
        order?: 'asc' | 'desc';
      };
      answers: { 200: RewardEpoch[] };
      refusals: 400 | 500 | 503;
    };

    /** Today’s pool, and how it would be spread. */
    '/api/rewards/pool/today': { answers: { 200: RewardPoolToday; 304: null }; refusals: 500 | 503 };

    /**
     * A wallet’s rewards that it has not claimed, of all epochs.
     *
     * By epoch, unless they have expired. Those that were settled off-chain are among them, with that status.
     */
    '/api/rewards/wallet/{wallet}/claimable': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: { limit?: number; offset?: number };
      answers: { 200: ClaimableReward[] };
      refusals: 400 | 500 | 503;
    };

    /**
     * A wallet’s claimable epochs, without those settled off-chain.
     *
     * By epoch, unless they have expired.
     */
    '/api/rewards/wallet/{wallet}/claimable-epochs': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: { limit?: number; offset?: number };
      answers: { 200: ClaimableReward[] };
      refusals: 400 | 500 | 503;
    };

    /** The stablecoin that a wallet is owed and has not been paid. */
    '/api/rewards/wallet/{wallet}/pending-usdc': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      answers: { 200: PendingStablecoin };
      refusals: 400 | 500 | 503;
    };

    /**
     * What a wallet would get if the day ended now.
     *
     * By the function that will decide it. The wallet’s own points are those of this moment, the others’ may be a little older: asOf says of when.
     */
    '/api/rewards/wallet/{wallet}/projected': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      answers: { 200: ProjectedReward };
      refusals: 400 | 500 | 503;
    };

    /**
     * The daily tasks, and which the caller has done today.
     *
     * Each can be completed once a UTC day, by the caller itself.
     */
    '/api/tasks/daily': { answers: { 200: OwnQuest[] }; refusals: 401 | 500 | 503 };

    /** The cabinets, and who controls them. */
    '/arcade/cabinets': { answers: { 200: Cabinet[]; 304: null }; refusals: 500 | 503 };

    /** Theme, events that go on, and figures of the arcade. */
    '/arcade/state': { answers: { 200: ArcadeState; 304: null }; refusals: 500 | 503 };

    /** How the schedule of chat rounds stands. */
    '/auto/status': { answers: { 200: AutoStatus }; refusals: 403 | 500 | 503 };

    /**
     * Battles that can be joined or are in progress.
     *
     * Newest first.
     */
    '/battle/active': {
      query?: {
        limit?: number;
        offset?: number;

        /** Only battles of this game. */
        gameId?: Slug;
      };
      answers: { 200: Battle[]; 304: null };
      refusals: 400 | 500 | 503;
    };

    /**
     * A battle.
     *
     * Its participants, and what they have scored: the best normalized score of each that was accepted between start and end. A held score counts if it is accepted before the end, one that is taken back before the result does not; a result that is there stays. `battle_started` and `battle_result` tell of both as they happen.
     */
    '/battle/{id}': {
      params: {
        /** The battle. */
        id: Id;
      };
      answers: { 200: Battle; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The latest messages, newest first.
     *
     * For who joins; what follows comes as events `chat_message` and `chat_moderation`.
     */
    '/chat/messages': {
      query?: {
        limit?: number;

        /** A message’s id: only those before it. */
        before?: Id;
      };
      answers: { 200: ChatMessages };
      refusals: 400 | 500 | 503;
    };

    /**
     * The chat round that takes entries.
     *
     * null where there is none.
     */
    '/chat/round/active': { answers: { 200: ChatRound | null; 304: null }; refusals: 500 | 503 };

    /** Chat rounds that were drawn, newest first. */
    '/chat/round/recent-finalized': {
      query?: { limit?: number; offset?: number };
      answers: { 200: FinalizedRound[]; 304: null };
      refusals: 400 | 500 | 503;
    };

    /** A chat round. */
    '/chat/round/{id}': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: ChatRound; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * All that decides a chat round.
     *
     * From the moment that the entries are frozen and their tree is computed; later parts (commitment, beacon, draw, winners) are null until they exist. Once the round is finalized or void it never changes. `entryHashes` comes last and is streamed: there is one for each entry.
     */
    '/chat/round/{id}/audit': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: RoundAudit; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The entries of a chat round.
     *
     * By index, which is the order in which they were accepted; while the round is active, as far as it has come. `format=ndjson`, from closing on: all of them, a line each of canonical JSON (RFC 8785) without `id` and `leaf`, exactly what the leaves of the root are made of.
     */
    '/chat/round/{id}/entries': {
      params: {
        /** The round. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** ndjson: all entries, one a line, as they are published: `limit` and `offset` do not matter. From closing on. */
        format?: 'json' | 'ndjson';
      };
      answers: { 200: Response | RoundEntry[]; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The Merkle root over all entries of a chat round.
     *
     * It exists as soon as the entries are frozen, and never changes: it is what the commitment on the chain names.
     */
    '/chat/round/{id}/entries/root': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: EntriesRoot; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * What proves that an entry is under its round’s root.
     *
     * leaf as `algorithm` of the root says, of all fields of `entry` but its id; node = SHA-256(min ‖ max); an odd node moves up as it is. It never changes.
     */
    '/chat/round/{id}/entries/{entryId}/proof': {
      params: {
        /** The round. */
        id: string;

        /** The entry. */
        entryId: string;
      };
      answers: { 200: EntryProof; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /** How the prizes of a finalized round are paid. */
    '/chat/round/{id}/payouts': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: RoundPayouts; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The winners of a finalized round.
     *
     * First place first. There may be fewer than prizes: entries of which no number was drawn win nothing.
     */
    '/chat/round/{id}/winners': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: Winner[]; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /** The winning numbers of a finalized round, and how they came about. */
    '/chat/round/{id}/winning-numbers': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: WinningNumbers; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * How chat is.
     *
     * Whether messages are taken, which round takes entries, how busy it is, and how far the stream of events is behind. At most a second old.
     */
    '/chat/status': { answers: { 200: ChatStatus }; refusals: 500 | 503 };

    /**
     * Clips, newest first.
     *
     * Of a game, of a wallet, of both, or all.
     */
    '/clips': {
      query?: { limit?: number; offset?: number; gameId?: Slug; wallet?: Wallet };
      answers: { 200: Clip[]; 304: null };
      refusals: 400 | 500 | 503;
    };

    /** A clip. */
    '/clips/{id}': { params: { id: Id }; answers: { 200: Clip; 304: null }; refusals: 400 | 404 | 500 | 503 };

    /**
     * The file of a clip.
     *
     * Takes `Range` of one part, with `If-Range`; several parts are answered with the whole file. It never changes, and may be kept for a day.
     */
    '/clips/{id}/media': { params: { id: Id }; answers: { 200: Response; 206: Response; 304: null }; refusals: 400 | 404 | 416 | 500 | 503 };

    /** The games of the arcade. */
    '/config/games': { answers: { 200: GameSummary[]; 304: null }; refusals: 500 | 503 };

    /**
     * How scores are normalized, and what caps points.
     *
     * Every game's scores come to 0–10000; points are floor(normalized × pointsPer10000 / 10000), within the caps of the game and of the day. linear: (score − min) / (max − min); log: ln(1 + score − min) / ln(1 + max − min); piecewise: straight between points. Where lower is better, the distance from max counts instead.
     */
    '/config/normalization': { answers: { 200: NormalizationConfig; 304: null }; refusals: 500 | 503 };

    /** What a day gives, and how it is shared out. */
    '/config/rewards': { answers: { 200: RewardsConfig; 304: null }; refusals: 500 | 503 };

    /**
     * The caller’s points in both modes.
     *
     * Regular and beta points: by what they are from, by period, by game.
     */
    '/debug/points': { answers: { 200: PointsBreakdown }; refusals: 401 | 500 | 503 };

    /**
     * Whether the caller holds enough of the token.
     *
     * What the token gate goes by. The balance is at most 30 seconds old; while the chain cannot be asked, at most 10 minutes, as `checkedAt` tells. 503 where it is not known, or no token is configured.
     */
    '/eligibility': { answers: { 200: Eligibility }; refusals: 401 | 500 | 503 };

    /**
     * Follow events as they happen.
     *
     * Server-Sent Events. Each message has `id`, `event` (its type) and `data`: JSON of `{ type, category, at, … }`. With a session the caller’s own events come too. Events of a category arrive in order. A client that connects again with the last id it saw gets what it missed; where that is not possible any more, the first message is `reset`, with links to the present state. Blocks with an `id` alone keep a quiet client’s id fresh. Connections end now and then, at the latest after about ten minutes; connect again.
     *
     * - `score_update` (gameplay): Scores were accepted. Broadcast at most 20 times a second as { wallet, gameId, score, rank }; a wallet’s own streams get each of its own in full.
     * - `score_held` (gameplay): A score waits for a decision. To its wallet only.
     * - `score_decided` (gameplay): A held score was accepted or rejected, or an accepted one was voided. To its wallet only.
     * - `game_state` (gameplay): A game’s saved state changed; read it anew. To its wallet only.
     * - `arcade_event` (system): A one-time event of the arcade: an animation, an announcement.
     * - `theme_changed` (system): The theme of the arcade changed.
     * - `cabinet_possessed` (system): An entity took control of a cabinet.
     * - `cabinet_released` (system): A cabinet returned to normal operation.
     * - `notification` (system): A message for people: to everybody, or to one wallet.
     * - `epoch_computed` (rewards): An epoch’s leaves are fixed; with a root, it goes on the chain next. Without leaves it is empty.
     * - `epoch_committed` (rewards): An epoch’s root is on the chain, finally, and funded: its rewards can be claimed until it expires.
     * - `epoch_settled` (rewards): What was not claimed of an epoch is settled off-chain; it cannot be claimed any more.
     * - `claim_submitted` (rewards): A claim is on its way to the chain. To its wallet only.
     * - `claim_confirmed` (rewards): A reward was claimed, by whoever’s transaction: the cluster has confirmed it, or (`final`) it cannot vanish any more.
     * - `claim_failed` (rewards): A claim could not be done; the reward can still be claimed. To its wallet only.
     * - `payout_confirmed` (rewards): A payment has arrived, finally. To its wallet only.
     * - `payout_failed` (rewards): A payment could not be made as it is, and is looked into; it stays owed. To its wallet only.
     * - `new_entry` (gameplay): An entry of a round was accepted: of a chat round, or (without numbers) a ticket.
     * - `chat_message` (chat): A message in chat: of a wallet, or of a bridged chat. `entryId` where it was an entry.
     * - `chat_moderation` (chat): A message is to be shown no longer, or somebody may (or may again) not write.
     * - `round_started` (round): A round takes entries.
     * - `round_closed` (round): A round takes no more entries; its entries are public and go into a commitment.
     * - `round_committed` (round): A round’s entries are committed to on the chain, finally; the beacon’s round decides it.
     * - `round_finalized` (round): A round is drawn. A legacy round has the winning ticket’s index instead of numbers.
     * - `round_void` (round): A round ended without a draw. Its entries are those of `successor`, where there is one; tickets that were paid for are paid back.
     * - `winner_announced` (round): A wallet won a prize; it is paid by itself.
     * - `ticket_confirmed` (round): A ticket counts. To its wallet only.
     * - `ticket_refused` (round): A ticket does not count; what was paid for it is paid back. To its wallet only.
     * - `quest_completed` (gameplay): A quest or a daily task was completed, and gave points. To its wallet only.
     * - `battle_started` (gameplay): A battle began: scores that name it count until it ends.
     * - `battle_result` (gameplay): A battle ended. Best scores first; who scored the same shares a place, and nobody has won where nobody scored.
     * - `burn_event_activated` (system): A burn event began: burns that name it count until it ends.
     * - `burn_event_ended` (system): A burn event ended. Burns that the chain had before its end may still be recorded.
     * - `burn_recorded` (system): A burn is final on the chain and counts for an event; `source` is null where the one that it named does not hold.
     */
    '/events': {
      query?: {
        /** Comma-separated categories: gameplay, chat, round, rewards, system; all of them by default. */
        categories?: string;

        /** Where to go on, for clients that cannot send the header Last-Event-ID, which wins. */
        lastEventId?: string;
      };
      answers: { 200: Response };
      refusals: 400 | 500 | 503;
    };

    /**
     * The burn events that are active or were.
     *
     * The newest first.
     */
    '/events/burn': { query?: { limit?: number; offset?: number }; answers: { 200: BurnEvent[]; 304: null }; refusals: 400 | 500 | 503 };

    /**
     * The burn event that burns count for.
     *
     * null where there is none.
     */
    '/events/burn/active': { answers: { 200: BurnEvent | null; 304: null }; refusals: 500 | 503 };

    /** A burn event. */
    '/events/burn/{id}': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      answers: { 200: BurnEvent; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The wallets of a burn event by all that they burned.
     *
     * Most first; wallets that burned the same share a rank and are listed by address, descending. Also after the event has ended.
     */
    '/events/burn/{id}/leaderboard': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** Centres the page on the caller; offset counts for nothing then. A caller who is not listed gets the top. */
        around?: 'me';
      };
      answers: { 200: BurnStanding[]; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * The wallets of a burn event by what they burned as players.
     *
     * Most first; wallets that burned the same share a rank and are listed by address, descending. Also after the event has ended.
     */
    '/events/burn/{id}/leaderboard/game': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** Centres the page on the caller; offset counts for nothing then. A caller who is not listed gets the top. */
        around?: 'me';
      };
      answers: { 200: BurnStanding[]; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * The wallets of a burn event by what they burned as referred wallets.
     *
     * Most first; wallets that burned the same share a rank and are listed by address, descending. Also after the event has ended.
     */
    '/events/burn/{id}/leaderboard/referrals': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** Centres the page on the caller; offset counts for nothing then. A caller who is not listed gets the top. */
        around?: 'me';
      };
      answers: { 200: BurnStanding[]; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * The wallets of a burn event by what they burned as linked wallets.
     *
     * Most first; wallets that burned the same share a rank and are listed by address, descending. Also after the event has ended.
     */
    '/events/burn/{id}/leaderboard/social': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** Centres the page on the caller; offset counts for nothing then. A caller who is not listed gets the top. */
        around?: 'me';
      };
      answers: { 200: BurnStanding[]; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * The quests of a burn event.
     *
     * Those that can be completed now.
     */
    '/events/burn/{id}/quests': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      query?: { limit?: number; offset?: number };
      answers: { 200: Quest[]; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /** The caller’s place in a burn event. */
    '/events/burn/{id}/rank': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      answers: { 200: BurnRank };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * Wallets by what their referrals earned them.
     *
     * The score is the sum of the points that a wallet got for the scores of wallets that it referred. Best first; wallets of the same score share a rank and are listed by address, descending.
     */
    '/game/referral/leaderboard': {
      query?: {
        limit?: number;
        offset?: number;

        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller; offset counts for nothing then. A caller without a rank gets the top. */
        around?: 'me';
      };
      answers: { 200: Leaderboard; 304: null };
      refusals: 400 | 401 | 500 | 503;
    };

    /**
     * A game’s leaderboard.
     *
     * The score is each wallet’s best normalized score in the period, 0 to 10,000. Best first; wallets of the same score share a rank and are listed by address, descending.
     */
    '/game/{id}/leaderboard': {
      params: {
        /** The game’s id. */
        id: GameRef;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller; offset counts for nothing then. A caller without a rank gets the top. */
        around?: 'me';
      };
      answers: { 200: Leaderboard; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /** The caller’s place on a game’s leaderboard. */
    '/game/{id}/rank': {
      params: {
        /** The game’s id. */
        id: GameRef;
      };
      query?: {
        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;
      };
      answers: { 200: BoardRank };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * Read one’s saved state of a game.
     *
     * The ETag names the version; If-None-Match with it is answered with 304. Nothing saved yet: state null, version 0.
     */
    '/game/{id}/state': {
      params: {
        /** The game’s id. */
        id: string;
      };
      answers: { 200: GameState; 304: null };
      refusals: 400 | 401 | 404 | 500 | 503;
    };

    /**
     * What a game has seen.
     *
     * Up to two seconds old.
     */
    '/game/{id}/stats': {
      params: {
        /** The game’s id. */
        id: string;
      };
      answers: { 200: GameStats };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * Whether the process lives.
     *
     * Asks no dependency.
     */
    '/healthz': { answers: { 200: { status: 'ok' } }; refusals: 500 | 503 };

    /**
     * Show X that this webhook is ours.
     *
     * The challenge-response check: the base64 HMAC-SHA256 of the token under the newest secret. The same key signs deliveries, so nothing is signed that could be one. 503 where no secret is configured.
     */
    '/integrations/x/events': {
      query: {
        /** What X wants to see signed. */
        crc_token: string;
      };
      answers: { 200: CrcAnswer };
      refusals: 400 | 500 | 503;
    };

    /**
     * The global leaderboard.
     *
     * The score is the composite of all regular points: games, quests and referrals. Best first; wallets of the same score share a rank and are listed by address, descending.
     */
    '/leaderboard/global': {
      query?: {
        limit?: number;
        offset?: number;

        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller; offset counts for nothing then. A caller without a rank gets the top. */
        around?: 'me';
      };
      answers: { 200: Leaderboard; 304: null };
      refusals: 400 | 401 | 500 | 503;
    };

    /** What one period of the global leaderboard amounts to. */
    '/leaderboard/global/period-stats': {
      query?: {
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;
      };
      answers: { 200: PeriodStats; 304: null };
      refusals: 400 | 500 | 503;
    };

    /** The caller’s place on the global leaderboard. */
    '/leaderboard/global/rank': {
      query?: {
        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;
      };
      answers: { 200: BoardRank };
      refusals: 400 | 401 | 500 | 503;
    };

    /** What the global leaderboard amounts to. */
    '/leaderboard/global/stats': { answers: { 200: GlobalStats; 304: null }; refusals: 500 | 503 };

    /**
     * The quest leaderboard.
     *
     * The score is the quest point total: points from quests alone. Best first; wallets of the same score share a rank and are listed by address, descending.
     */
    '/leaderboard/quests': {
      query?: {
        limit?: number;
        offset?: number;

        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller; offset counts for nothing then. A caller without a rank gets the top. */
        around?: 'me';
      };
      answers: { 200: Leaderboard; 304: null };
      refusals: 400 | 401 | 500 | 503;
    };

    /**
     * The caller’s place on the quest leaderboard.
     *
     * The score is the caller’s quest point total.
     */
    '/leaderboard/quests/rank': {
      query?: {
        /** In UTC, the week from Monday on; all time by default. */
        period?: Period;

        /** A UTC day of the period that is meant; today by default. Past periods keep their final ranks. */
        at?: Day;
      };
      answers: { 200: BoardRank };
      refusals: 400 | 401 | 500 | 503;
    };

    /** What the quest leaderboard amounts to. */
    '/leaderboard/quests/stats': { answers: { 200: QuestStats; 304: null }; refusals: 500 | 503 };

    /**
     * What quests gave the caller.
     *
     * Newest first, in either mode; each entry keeps the factors that it was computed from.
     */
    '/ledger/quests': { query?: { limit?: number; offset?: number }; answers: { 200: QuestEntry[] }; refusals: 400 | 401 | 500 | 503 };

    /**
     * Who am I.
     *
     * Does not wait for the chain: what it does not tell within 0.3 seconds is null here, and asked for at `/eligibility`.
     */
    '/me': { answers: { 200: Me }; refusals: 401 | 500 | 503 };

    /**
     * What the caller’s quest points are multiplied by, and why.
     *
     * 1 and what the factors add, at most 2; points are rounded down. It applies to quest points only.
     */
    '/me/quest-multiplier': { answers: { 200: QuestMultiplier }; refusals: 401 | 500 | 503 };

    /**
     * The quests with the caller’s progress.
     *
     * Progress counts what the caller did until this moment; a quest that is met by it is completed within about a second. Days are UTC.
     */
    '/me/quests': {
      query?: {
        limit?: number;
        offset?: number;

        /** Only quests of this category. */
        category?: Slug;
      };
      answers: { 200: OwnQuest[] };
      refusals: 400 | 401 | 500 | 503;
    };

    /**
     * The quests that can be completed now.
     *
     * Daily tasks are among them. Oldest first.
     */
    '/quests': {
      query?: {
        limit?: number;
        offset?: number;

        /** Only quests of this category. */
        category?: Slug;
      };
      answers: { 200: Quest[]; 304: null };
      refusals: 400 | 500 | 503;
    };

    /** A quest with its versions and what was completed. */
    '/quests/{id}': {
      params: {
        /** The quest’s id. */
        id: string;
      };
      answers: { 200: QuestDetail };
      refusals: 400 | 403 | 404 | 500 | 503;
    };

    /**
     * Whether the process can do its work.
     *
     * Answers within about a second, whatever its dependencies do.
     */
    '/readyz': { answers: { 200: Readiness; 503: Readiness }; refusals: 500 };

    /** A legacy round. */
    '/round/{id}': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: LegacyRound; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * All that decides a legacy round.
     *
     * From the moment that the entries are frozen and their tree is computed; later parts (commitment, beacon, draw, winners) are null until they exist. Once the round is finalized or void it never changes. `entryHashes` comes last and is streamed: there is one for each entry.
     */
    '/round/{id}/audit': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: RoundAudit; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The tickets of a legacy round.
     *
     * By index, which is the order in which they were accepted; while the round is active, as far as it has come. `format=ndjson`, from closing on: all of them, a line each of canonical JSON (RFC 8785) without `id` and `leaf`, exactly what the leaves of the root are made of.
     */
    '/round/{id}/entries': {
      params: {
        /** The round. */
        id: string;
      };
      query?: {
        limit?: number;
        offset?: number;

        /** ndjson: all entries, one a line, as they are published: `limit` and `offset` do not matter. From closing on. */
        format?: 'json' | 'ndjson';
      };
      answers: { 200: Response | RoundEntry[]; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /** How a ticket stands. */
    '/round/{id}/tickets/{ticketId}': {
      params: {
        id: string;

        /** The ticket. */
        ticketId: Id;
      };
      answers: { 200: Ticket };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The latest chat round, as it is shared.
     *
     * The one that was drawn last; before the first draw, the one that is active. Legacy rounds, which anybody may open, are not among them.
     */
    '/social/latest': { answers: { 200: SharedRound; 304: null }; refusals: 404 | 500 | 503 };

    /**
     * A round, as it is shared.
     *
     * A round of either kind and in any state: one or two sentences, what it comes to, where to look, and what a page puts into its Open Graph tags.
     */
    '/social/round/{id}': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: SharedRound; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * The card of a round.
     *
     * A picture of 1200 × 630 to share. That of a finalized or void round never changes; that of another may be 15 seconds old.
     */
    '/social/round/{id}/card.png': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: Response; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * A round as a post.
     *
     * Text that X takes, with the link in it, and the picture to attach. A long title is cut.
     */
    '/social/round/{id}/post': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: RoundPost; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };

    /**
     * What a wallet has achieved.
     *
     * Regular points only. 404 for a wallet that never signed in.
     */
    '/users/{wallet}/stats': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      answers: { 200: UserStats; 304: null };
      refusals: 400 | 404 | 500 | 503;
    };
  };
  post: {
    /**
     * End a burn event before its time.
     *
     * Burns in blocks before its end still count, whenever they become final. 409: it is not active.
     */
    '/admin/burn/{id}/end': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      answers: { 200: BurnEvent };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Give a cabinet into the control of a character or entity.
     *
     * 409 when it is possessed already, by whomever.
     */
    '/admin/cabinet/possess': { body: PossessRequest; answers: { 200: Cabinet }; refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Return a cabinet to normal operation.
     *
     * 409 when nobody possesses it.
     */
    '/admin/cabinet/release': { body: CabinetReleaseRequest; answers: { 200: Cabinet }; refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Delete a message, mute or ban its author.
     *
     * delete: empties the text; mute (from now on, so many minutes) and ban: refuse messages and entries from then on. Accepted entries stay. Again the same is 200 and changes nothing, but that a mute begins anew.
     */
    '/admin/chat/moderate': { body: ChatModerationRequest; answers: { 200: ChatModeration }; refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503 };

    /**
     * Begin a one-time event: an animation, an announcement.
     *
     * Broadcast once, as `arcade_event`; among the `activeEvents` of `/arcade/state` until it ends.
     */
    '/admin/event': { body: ArcadeEventRequest; idempotent: true; answers: { 201: ArcadeEvent }; refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Owe a wallet something, and have it paid.
     *
     * Once per reference: the same again answers the payment that there is, with other terms 409.
     */
    '/admin/payments': {
      body: OweRequest;
      idempotent: true;
      answers: { 200: Payment; 201: Payment };
      refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Close a payment that was set aside and then made by hand.
     *
     * The transaction must be final, and must have paid the wallet this amount besides all that it is already known to have paid.
     */
    '/admin/payments/{id}/resolve': {
      params: { id: Id };
      body: PaymentResolution;
      answers: { 200: Payment };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /** Try a payment again that was set aside, or reported as failed. */
    '/admin/payments/{id}/retry': { params: { id: Id }; answers: { 200: Payment }; refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Stop payouts.
     *
     * Nothing more is signed; what is on its way is followed to its end.
     */
    '/admin/payouts/pause': { body: HoldRequest; answers: { 200: Payouts }; refusals: 400 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Let payouts go on.
     *
     * Lifts what a person stopped. Transactions that nobody could match have to be acknowledged, all of them; a doubt that is left stops payouts again at the next look.
     */
    '/admin/payouts/resume': { body?: ReleaseRequest; answers: { 200: Payouts }; refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Complete a quest for a wallet.
     *
     * Whatever the wallet did, also while the quest is not active; the multiplier applies. 409: done in this window, or the wallet is banned.
     */
    '/admin/quests/{id}/complete': {
      params: {
        /** The quest’s id. */
        id: string;
      };
      body: CompleteQuest;
      idempotent: true;
      answers: { 200: QuestCompleted };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Accept or reject a held score.
     *
     * Accepted, it counts on the day of the decision, within that day’s caps.
     */
    '/admin/scores/{id}/decision': {
      params: { id: Id };
      body: DecisionRequest;
      answers: { 200: ScoreDetail };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Take an accepted score back.
     *
     * Its points are taken back by a ledger row of today; the wallet’s bests are computed again from its remaining scores.
     */
    '/admin/scores/{id}/void': {
      params: { id: Id };
      body: VoidRequest;
      answers: { 200: ScoreDetail };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Change the theme of the arcade.
     *
     * Merged into the present theme as a JSON merge patch (RFC 7386); the sum is at most 64 KB. Each version is kept; the ETag names it, with If-Match only that version is changed. What changes nothing keeps its version.
     */
    '/admin/theme': { body?: ThemePatch; answers: { 200: Theme }; refusals: 400 | 403 | 412 | 413 | 415 | 500 | 503 };

    /**
     * Try a chain transaction again that was set aside before it was signed.
     *
     * For when its cause is gone: everything is looked at anew, and where the cause stands it is set aside again. One that may have landed is refused (409), with what is missing to tell.
     */
    '/admin/transactions/{id}/retry': {
      params: { id: Id };
      answers: { 200: ChainTransaction };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Ban a wallet.
     *
     * Its sessions end, it may not sign in or score any more, and a job takes back every score that it holds.
     */
    '/admin/wallets/{wallet}/ban': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      body: BanRequest;
      answers: { 200: Ban };
      refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503;
    };

    /**
     * Lift a ban.
     *
     * Scores that were taken back stay taken back.
     */
    '/admin/wallets/{wallet}/unban': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      answers: { 200: Ban };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Have a delivery worked on again.
     *
     * One that failed, or was worked on: it is judged as if it came again, so that what has taken effect already takes none. 409 while it waits or is being worked on.
     */
    '/admin/webhooks/{source}/{id}/replay': {
      params: {
        source: 'payment-status' | 'chat-bridge' | 'x';

        /** `webhook-id`; of X the hex SHA-256 of the body. */
        id: string;
      };
      answers: { 202: WebhookDelivery };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Make a wallet’s beta points regular ones.
     *
     * Converts all beta points that were not converted yet, each once; the result is rounded down. It counts on all-time boards only, never for a period or an epoch. Where nothing is left, or nothing would come of it, nothing happens: `id` is null.
     */
    '/api/beta/convert': {
      body: ConversionRequest;
      idempotent: true;
      answers: { 200: ConversionResult };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Turn beta mode on or off.
     *
     * Toggles, or sets what `enabled` says. From then on new points are beta points, or regular ones again: public boards, ranks and epochs count regular points only. A score that is held goes to where it would have gone when it was submitted.
     */
    '/api/beta/preference': {
      body?: BetaPreferenceRequest;
      idempotent: true;
      answers: { 200: BetaPreference };
      refusals: 400 | 401 | 403 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Say who referred the caller.
     *
     * Once per wallet, and for good: again is 409, by whatever code. Neither oneself (400) nor a wallet that one referred, directly or through others (409), nor a banned wallet (409). From then on the referrer gets 10 % of the points of each of the caller’s scores, rounded down, within a daily cap, from the caller’s first score in a verified game on.
     */
    '/api/referral/bind': {
      body: BindRequest;
      idempotent: true;
      answers: { 201: ReferralBinding };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Make a new referral link.
     *
     * It becomes the caller’s link; the codes of older ones go on working. At most 20 for each wallet.
     */
    '/api/referral/link': { idempotent: true; answers: { 201: ReferralLink }; refusals: 400 | 401 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Claim an epoch’s reward.
     *
     * Relayed: the service pays the fees, and the tokens go only to the wallet named in the leaf. Waits up to 20 s for the chain (`Prefer: wait=5` for less); later than that it is 202, the work goes on, and `claim_confirmed` or `claim_failed` tells the outcome. Asked again meanwhile, it is the same claim; one that failed is tried anew. Refused with 409 when the reward is claimed already (the sentence names the transaction), settled off-chain, not committed, expired (relaying ends 10 minutes before), or when the wallet has to open a token account first.
     */
    '/api/rewards/claim': {
      body: ClaimRequest;
      idempotent: true;
      answers: { 200: ClaimReceipt; 202: ClaimReceipt };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Import an epoch that was computed elsewhere.
     *
     * With an internal token, or an admin token with the scope money. As JSON up to 256 KB, or as NDJSON, plain or with Content-Encoding gzip, up to 1,000,000 rows and 256 MB unpacked: the first line `{ "epoch": 20777, "root": "…" }`, then one line `{ "wallet": "…", "amount": "…" }` per leaf. The leaves have the order of the rows, and give at most the pool of the rules in force. An import is taken whole or not at all; what is wrong is told of the first ten rows. Waits up to 15 s (`Prefer: wait=5` for less) for the tree to be built; later than that it is 202, and the work goes on. The same again is 200, another one for the same epoch 409, and so is an epoch that was computed. It is committed like a computed one.
     */
    '/api/rewards/epoch/import': {
      body: ImportEpochRequest | Bytes;
      answers: { 200: RewardEpoch; 201: RewardEpoch; 202: RewardEpoch };
      refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Settle epochs off-chain.
     *
     * What was not claimed of them cannot be claimed any more; what was stays claimed. An epoch that is on the chain is settled there first, finally: 202 until then. One that was never committed is settled at once, and never will be. An unknown epoch refuses all of them. Again the same: the same answer.
     */
    '/api/rewards/settled-offchain': {
      body: SettleRequest;
      answers: { 200: Settlements; 202: Settlements };
      refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503;
    };

    /**
     * Complete a daily task.
     *
     * taskId is the id of one of the daily tasks. 400: what is missing; 409: done today.
     */
    '/api/tasks/daily/complete': {
      body: CompleteTask;
      idempotent: true;
      answers: { 200: TaskCompleted };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * The wallet behind an address, a name or a handle.
     *
     * Names are read from the chain, at finality; an answer is at most 15 seconds old. A name that its registry keeps wrapped in a token leads to who holds the token; else to what its valid SOL record names; else to its owner. `.sns` names are those of the Solana Name Service. `.sol` names moved from it to the Solana Record Service: such a name must lead to the same wallet by both.
     *
     * 404 says why there is no wallet that money may be sent to: no such name or handle; it has expired; it is held by a program, such as a market; its records contradict each other.
     */
    '/api/wallet/resolve': { body: ResolveRequest; answers: { 200: ResolvedWallet }; refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503 };

    /**
     * Submit a score.
     *
     * Validated by a worker: known game, score in range, the play yours, unused and long enough, its session unbroken, the signature right. Doubtful scores are held for a moderator: 0 points, on no board until accepted. Answered once committed; after a 503 send the same score again, it is never counted twice. A battleId must be of a running battle of this game that you sit in: 404 unknown, 400 of another game, 403 not joined, 409 not running; a score that was recorded is answered also after the battle. The same play (or Idempotency-Key) with the same body answers the stored outcome, with another body 409.
     */
    '/arcade/score': {
      body: ScoreRequest;
      idempotent: true;
      answers: { 200: ScoreReceipt };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Sign out.
     *
     * Ends the session everywhere at once and clears its cookie.
     */
    '/auth/logout': { answers: { 200: SignedOut }; refusals: 400 | 401 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Ask for something to sign.
     *
     * The text is decided by the service: its domain is that of an allowed Origin, or else of the service itself.
     */
    '/auth/nonce': { answers: { 200: SignInNonce }; refusals: 400 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Begin to link an account of the social network.
     *
     * By signing in there (`oauth`: OAuth 2.0 with PKCE), or by posting a text (`challenge`). Within ten minutes, and only by this wallet, it is finished at `/auth/social/link/verify`. A wallet’s latest five beginnings are good. 503 where that way is not configured.
     */
    '/auth/social/link/start': { body?: LinkStartRequest; answers: { 200: LinkStart }; refusals: 400 | 401 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Finish linking an account.
     *
     * With the `code` and `state` that the network sent the person back with, or with the post that begins with the challenge. An account belongs to one wallet, and a wallet has one account: otherwise 409, as for what has been used already. What the account did before (it follows the arcade, it has reposted or mentioned it) counts from now on. The service keeps no token of the network.
     */
    '/auth/social/link/verify': { body: LinkVerifyRequest; answers: { 200: Link }; refusals: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Sign in with what a wallet signed.
     *
     * Sets the session’s cookie. A session that the request came with ends.
     */
    '/auth/verify': { body: SignInProof; answers: { 200: SignedIn }; refusals: 400 | 401 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Keep chat rounds coming.
     *
     * The first round begins at startAt, or now, and one more at each interval. One at a time: while a round is active, the next one waits, and of the times that pass meanwhile, or while the service is down, one is made up for. While it runs, interval and template are replaced: without startAt the next round stays when it is due, or comes earlier where the new interval says so. A round that was refused, for prizes that the treasury does not hold, is tried again, with the present template.
     */
    '/auto/start': { body: AutoStart; answers: { 200: AutoStatus }; refusals: 400 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Make no further rounds.
     *
     * A round that has begun goes on. Stopping what is stopped changes nothing.
     */
    '/auto/stop': { answers: { 200: AutoStatus }; refusals: 400 | 403 | 413 | 415 | 500 | 503 };

    /**
     * Open a battle.
     *
     * Its creator takes the first seat. It starts when all seats are taken, or when its creator says so; not started within an hour it expires. At most 5 battles of a wallet are open or running at a time.
     */
    '/battle/create': {
      body: BattleTerms;
      idempotent: true;
      answers: { 201: Battle };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Take a seat in a battle.
     *
     * The last seat starts it. Who has a seat already gets the battle as it is; a seat is not given back. 409 where it is full or not open.
     */
    '/battle/{id}/join': {
      params: {
        /** The battle. */
        id: Id;
      };
      answers: { 200: Battle };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Start a battle before all seats are taken.
     *
     * By its creator, with two participants or more. It ends when its time is up, or when every participant has a score that counts; whoever has the best one wins.
     */
    '/battle/{id}/start': {
      params: {
        /** The battle. */
        id: Id;
      };
      answers: { 200: Battle };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Say something in chat, or enter the active round.
     *
     * `!enter`, or `!enter 3 7 12 30 41`, is an entry of the active round; without numbers they are derived from the entry’s id and the wallet. Wrong numbers are 400; 409 when no round takes entries, or the wallet has as many as it may have; 403 when muted or banned. Then nothing is stored or shown. The receipt is signed with a key of `/.well-known/coinop-keys`.
     */
    '/chat/message': {
      body: ChatMessageRequest;
      idempotent: true;
      answers: { 201: ChatMessageReceipt };
      refusals: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Describe a chat round.
     *
     * It is pending until it is started.
     */
    '/chat/round': { body: ChatRoundTerms; idempotent: true; answers: { 201: ChatRound }; refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Start a chat round.
     *
     * Its parameters are frozen, its prizes reserved in the treasury, and entries are accepted. 409: it is not pending, another round is active, or the treasury does not hold the prizes beside what it owes and what is reserved for others.
     */
    '/chat/round/{id}/start': {
      params: {
        /** The round. */
        id: string;
      };
      answers: { 200: ChatRound };
      refusals: 400 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Upload a clip.
     *
     * A form with the field `file` and, before or after it, the others. At most 50 clips and 1073741824 bytes per wallet and UTC day (429). The same content again is 409, `Location` saying which clip it is; under the same `Idempotency-Key`, and with the same fields, it is the same clip. What asks for clips, such as the quest `clip-upload`, counts it within a second.
     */
    '/clip/upload': { body: Bytes; idempotent: true; answers: { 201: Clip }; refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Describe a burn event.
     *
     * It burns the arcade’s own token, and is pending until it is activated. At most 5 that a wallet described within 7 days are pending.
     */
    '/events/burn': { body: BurnEventTerms; idempotent: true; answers: { 201: BurnEvent }; refusals: 400 | 401 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Activate a burn event.
     *
     * By the wallet that described it, if that is an organiser, or by an operator. One event is active at a time. 409: it is not pending, or another one is active.
     */
    '/events/burn/{id}/activate': {
      params: {
        /** The burn event’s id. */
        id: string;
      };
      answers: { 200: BurnEvent };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Start a play.
     *
     * A score names its play, and uses it up. At most 200 plays without a score an hour. Where the service asks for a token to be held, a wallet that holds too little of it (see `/eligibility`) is refused with 403.
     *
     * Where the game verifies by heartbeat, open a WebSocket to `heartbeatUrl` with the session's cookie and send `{"type":"heartbeat"}` every 5 seconds, the first at once; each is answered with `{"type":"heartbeat","beats":n,"at":"…"}`. Beats less than 2 seconds apart are not counted. A socket that is silent for 15 seconds is closed (4008); it may be opened again anywhere within 15 seconds of the last beat, and takes over from one that is still open (4001). Anything else than heartbeats, or more than 20 messages in 10 seconds, closes it (1008). When the service restarts it closes with 1012: connect again. A silence of the client's makes its score refused, one of the service's makes it held. The upgrade is refused with 400, 401, 403, 404, 409 (the game needs no heartbeats; the play has its score, or is over) or 503.
     */
    '/game/{id}/play': {
      params: {
        /** The game’s id. */
        id: string;
      };
      idempotent: true;
      answers: { 201: PlayReceipt };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Log a finalized record for good.
     *
     * Any JSON object up to 256 KB. Records are never changed or removed; each names the hash of the one before. At most 60 a minute and 1000 a day of one wallet in one game.
     */
    '/game/{id}/record': {
      params: {
        /** The game’s id. */
        id: string;
      };
      body?: { [key: string]: unknown };
      idempotent: true;
      answers: { 201: RecordReceipt };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * A message of a bridged chat.
     *
     * Stored, acknowledged, then worked on; the verdict is in the list of deliveries. It is shown with its handle, and with its wallet if the account is linked. `!enter …` is an entry only for a wallet that linked the account before the round opened; otherwise the message is shown without one. Wrong numbers, and authors who may not write or write too much, are not shown. The same platform and messageId again does nothing.
     */
    '/integrations/chat/messages': { body?: BridgedMessage; answers: { 200: Acknowledged }; refusals: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * What happens on X.
     *
     * Stored, acknowledged, then worked on; the verdict is in the list of deliveries. Taken are events of the Account Activity API and of the X Activity API. Who follows the arcade’s account, reposts a post of it or mentions it is credited as the wallet that has linked the account, or once it does. What tells the same again does nothing, whichever API it is of.
     */
    '/integrations/x/events': { body?: XDelivery; answers: { 200: Acknowledged }; refusals: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Create a quest.
     *
     * What wallets did on the day that it starts on counts already. 409: the id was used before, or there are 200 quests.
     */
    '/quests': { body: NewQuest; idempotent: true; answers: { 201: QuestForOperators }; refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Have an epoch computed.
     *
     * Of a day that has ended, by default the last one; normally this happens by itself. 201 when this has computed it, 200 when it was there, 202 while it is being computed (the request waits up to 5 s, less with `Prefer: wait=1`): a day closes a minute after it ends, and is computed then. An epoch that was imported is 409.
     */
    '/rewards/trigger-epoch': {
      body?: TriggerEpochRequest;
      idempotent: true;
      answers: { 200: RewardEpoch; 201: RewardEpoch; 202: RewardEpoch };
      refusals: 400 | 403 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Open a legacy round.
     *
     * Tickets for one price, or free; one winner gets the price of all of them. Active at once, with parameters that never change; drawn as chat rounds are. At most 5 rounds of a wallet are open at a time.
     */
    '/round': { body: LegacyRoundTerms; idempotent: true; answers: { 201: LegacyRound }; refusals: 400 | 401 | 403 | 409 | 413 | 415 | 500 | 503 };

    /**
     * Close a legacy round and have it drawn.
     *
     * By its creator at any time, by anybody once it has closed; without being asked it happens soon after. No ticket is accepted from then on: those that are being checked are paid back. 202 until the round is drawn, 200 with the winner from then on, 409 where it is void.
     */
    '/round/{id}/finalize': {
      params: {
        /** The round. */
        id: string;
      };
      idempotent: true;
      answers: { 200: LegacyResult; 202: LegacyRound };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 500 | 503;
    };

    /**
     * Ask for a ticket.
     *
     * Free: one for each wallet. Else names a transaction that is signed by the wallet and has no error: exactly one transfer, by the wallet itself, of exactly the price to the round’s `payTo.tokenAccount`, and one memo, `payTo.memo`. It must be final, and the ticket accepted, before the round closes; a transaction pays for one ticket, ever. Waits up to 20 s until it is final (`Prefer: wait=5` for less, `respond-async` for none); later than that it is 202, asked again meanwhile the same, and `ticket_confirmed` or `ticket_refused` tells the outcome. Refused with 409 and the reason; what the wallet has paid the treasury in a transaction that is refused is paid back, see `refunds` of the ticket at `Location`. A transaction that is not found within 10 minutes is refused and may be named again.
     */
    '/round/{id}/ticket': {
      params: {
        /** The round. */
        id: string;
      };
      body?: TicketRequest;
      idempotent: true;
      answers: { 201: Ticket; 202: Ticket };
      refusals: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * How a payment of the orchestrator goes.
     *
     * Stored, acknowledged, then worked on. Only payments of the orchestrator are touched; wallet, amount and currency must be theirs. An older timestamp never overrides a newer one, and completed changes only by reversed. A transactionSignature of a completed payment is checked on the chain.
     */
    '/webhooks/payment-status': { body: PaymentStatus; answers: { 200: Acknowledged }; refusals: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };
  };
  put: {
    /**
     * Create or change a cabinet.
     *
     * The ETag names the version; with If-Match only that version is replaced. Who possesses it stays.
     */
    '/admin/cabinets/{id}': {
      params: { id: Slug };
      body: CabinetRequest;
      answers: { 200: Cabinet; 201: Cabinet };
      refusals: 400 | 403 | 412 | 413 | 415 | 500 | 503;
    };

    /**
     * Set what a day gives, and how.
     *
     * Holds for epochs that are begun from now on, which is when their day has been closed, or later: each keeps the rules that it was begun under. The ETag names the version; with If-Match only that version is replaced. What already is as asked keeps its version.
     */
    '/admin/config/rewards': { body: RewardRulesRequest; answers: { 200: RewardsConfig }; refusals: 400 | 403 | 412 | 413 | 415 | 500 | 503 };

    /**
     * Create or change a game.
     *
     * Takes effect within a second everywhere. The ETag names the version; with If-Match only that version is replaced. What already is as asked keeps its version.
     */
    '/admin/games/{id}': {
      params: { id: GameId };
      body: GameRequest;
      answers: { 200: Game; 201: Game };
      refusals: 400 | 403 | 412 | 413 | 415 | 500 | 503;
    };

    /**
     * Save one’s state of a game.
     *
     * Any JSON up to 256 KB. With If-Match it replaces only the version named; "0" names a state that was never saved.
     */
    '/game/{id}/state': {
      params: {
        /** The game’s id. */
        id: string;
      };
      body?: unknown;
      answers: { 200: GameStateSaved };
      refusals: 400 | 401 | 403 | 404 | 412 | 413 | 415 | 500 | 503;
    };
  };
  patch: {
    /**
     * Change a quest.
     *
     * Makes a new version, which holds from now on: what was completed and earned stays. What already is as asked keeps its version. With If-Match only that version is changed.
     */
    '/quests/{id}': {
      params: {
        /** The quest’s id. */
        id: string;
      };
      body?: QuestPatch;
      answers: { 200: QuestForOperators };
      refusals: 400 | 403 | 404 | 412 | 413 | 415 | 500 | 503;
    };
  };
  delete: {
    /**
     * Remove a clip.
     *
     * It is gone at once, and its file soon after. Its wallet may not upload the same content again.
     */
    '/admin/clips/{id}': { params: { id: Id }; answers: { 204: null }; refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503 };

    /**
     * Unlink the caller’s account of a network.
     *
     * What the account did stays credited, and counts for no other wallet. The same wallet can link it again at once, another one after 30 days.
     */
    '/auth/social/link/{platform}': { params: { platform: string }; answers: { 204: null }; refusals: 400 | 401 | 403 | 404 | 413 | 415 | 500 | 503 };

    /**
     * Take a quest away.
     *
     * It is on no list any more and cannot be completed; what it gave stays.
     */
    '/quests/{id}': {
      params: {
        /** The quest’s id. */
        id: string;
      };
      answers: { 204: null };
      refusals: 400 | 403 | 404 | 413 | 415 | 500 | 503;
    };
  };
}

/** The data of every event, by its type. */
export interface Events {
  /** A one-time event of the arcade: an animation, an announcement. */
  arcade_event: {
    id: string;
    name: string;
    startsAt: string;
    endsAt: string;
    payload?: unknown;
    type: 'arcade_event';
    category: 'system';
    at: Instant;
  };

  /** A battle ended. Best scores first; who scored the same shares a place, and nobody has won where nobody scored. */
  battle_result: {
    battleId: string;
    gameId: string;
    winners: string[];
    results: { wallet: string; place: number | null; score: number | null }[];
    type: 'battle_result';
    category: 'gameplay';
    at: Instant;
  };

  /** A battle began: scores that name it count until it ends. */
  battle_started: { battleId: string; gameId: string; players: string[]; endsAt: string; type: 'battle_started'; category: 'gameplay'; at: Instant };

  /** A burn event began: burns that name it count until it ends. */
  burn_event_activated: {
    burnEventId: string;
    title: string;
    mint: string;
    endsAt: string;
    type: 'burn_event_activated';
    category: 'system';
    at: Instant;
  };

  /** A burn event ended. Burns that the chain had before its end may still be recorded. */
  burn_event_ended: {
    burnEventId: string;
    title: string;
    burnTotal: string;
    participants: number;
    type: 'burn_event_ended';
    category: 'system';
    at: Instant;
  };

  /** A burn is final on the chain and counts for an event; `source` is null where the one that it named does not hold. */
  burn_recorded: {
    burnEventId: string;
    wallet: string;
    amount: string;
    source: 'referral' | 'game' | 'social' | null;
    signature: string;
    burnTotal: string;
    type: 'burn_recorded';
    category: 'system';
    at: Instant;
  };

  /** An entity took control of a cabinet. */
  cabinet_possessed: { cabinetId: Slug; gameId: string; by: string; type: 'cabinet_possessed'; category: 'system'; at: Instant };

  /** A cabinet returned to normal operation. */
  cabinet_released: { cabinetId: Slug; gameId: string; type: 'cabinet_released'; category: 'system'; at: Instant };

  /** A message in chat: of a wallet, or of a bridged chat. `entryId` where it was an entry. */
  chat_message: {
    messageId: string;
    source: string;
    wallet: string | null;
    handle: string | null;
    text: string;
    entryId: string | null;
    type: 'chat_message';
    category: 'chat';
    at: Instant;
  };

  /** A message is to be shown no longer, or somebody may (or may again) not write. */
  chat_moderation: {
    action: 'delete' | 'mute' | 'unmute' | 'ban' | 'unban';
    messageId: string | null;
    wallet: string | null;
    until: string | null;
    type: 'chat_moderation';
    category: 'chat';
    at: Instant;
  };

  /** A reward was claimed, by whoever’s transaction: the cluster has confirmed it, or (`final`) it cannot vanish any more. */
  claim_confirmed: {
    claimId: string;
    epoch: number;
    wallet: string;
    amount: string;
    signature: string | null;
    final: boolean;
    type: 'claim_confirmed';
    category: 'rewards';
    at: Instant;
  };

  /** A claim could not be done; the reward can still be claimed. To its wallet only. */
  claim_failed: { claimId: string; epoch: number; wallet: string; reason: string; type: 'claim_failed'; category: 'rewards'; at: Instant };

  /** A claim is on its way to the chain. To its wallet only. */
  claim_submitted: { claimId: string; epoch: number; wallet: string; amount: string; type: 'claim_submitted'; category: 'rewards'; at: Instant };

  /** An epoch’s root is on the chain, finally, and funded: its rewards can be claimed until it expires. */
  epoch_committed: {
    epoch: number;
    root: string;
    total: string;
    leaves: number;
    signature: string | null;
    expiresAt: string;
    type: 'epoch_committed';
    category: 'rewards';
    at: Instant;
  };

  /** An epoch’s leaves are fixed; with a root, it goes on the chain next. Without leaves it is empty. */
  epoch_computed: {
    epoch: number;
    status: 'computed' | 'empty';
    leaves: number;
    total: string;
    undistributed: string;
    root: string | null;
    type: 'epoch_computed';
    category: 'rewards';
    at: Instant;
  };

  /** What was not claimed of an epoch is settled off-chain; it cannot be claimed any more. */
  epoch_settled: { epoch: number; claimed: string; total: string; type: 'epoch_settled'; category: 'rewards'; at: Instant };

  /** A game’s saved state changed; read it anew. To its wallet only. */
  game_state: { gameId: string; version: number; type: 'game_state'; category: 'gameplay'; at: Instant };

  /** An entry of a round was accepted: of a chat round, or (without numbers) a ticket. */
  new_entry: {
    roundId: string;
    kind: 'chat' | 'legacy';
    entryId: string;
    index: number;
    wallet: string;
    numbers: number[];
    type: 'new_entry';
    category: 'gameplay';
    at: Instant;
  };

  /** A message for people: to everybody, or to one wallet. */
  notification: { level: 'info' | 'warning'; text: string; link?: string; type: 'notification'; category: 'system'; at: Instant };

  /** A payment has arrived, finally. To its wallet only. */
  payout_confirmed: {
    paymentId: string;
    wallet: string;
    currency: string;
    amount: string;
    signature: string | null;
    type: 'payout_confirmed';
    category: 'rewards';
    at: Instant;
  };

  /** A payment could not be made as it is, and is looked into; it stays owed. To its wallet only. */
  payout_failed: {
    paymentId: string;
    wallet: string;
    currency: string;
    amount: string;
    reason: string;
    type: 'payout_failed';
    category: 'rewards';
    at: Instant;
  };

  /** A quest or a daily task was completed, and gave points. To its wallet only. */
  quest_completed: {
    questId: string;
    title: string;
    window: string;
    points: number;
    task: boolean;
    type: 'quest_completed';
    category: 'gameplay';
    at: Instant;
  };

  /** A round takes no more entries; its entries are public and go into a commitment. */
  round_closed: { roundId: string; kind: 'chat' | 'legacy'; entries: number; type: 'round_closed'; category: 'round'; at: Instant };

  /** A round’s entries are committed to on the chain, finally; the beacon’s round decides it. */
  round_committed: {
    roundId: string;
    kind: 'chat' | 'legacy';
    sequence: number;
    entries: number;
    root: string;
    signature: string;
    beaconRound: number;
    dueAt: string;
    type: 'round_committed';
    category: 'round';
    at: Instant;
  };

  /** A round is drawn. A legacy round has the winning ticket’s index instead of numbers. */
  round_finalized: {
    roundId: string;
    kind: 'chat' | 'legacy';
    numbers: number[];
    winningTicket: number | null;
    winners: number;
    type: 'round_finalized';
    category: 'round';
    at: Instant;
  };

  /** A round takes entries. */
  round_started: {
    roundId: string;
    kind: 'chat' | 'legacy';
    title: string | null;
    opensAt: string;
    closesAt: string;
    type: 'round_started';
    category: 'round';
    at: Instant;
  };

  /** A round ended without a draw. Its entries are those of `successor`, where there is one; tickets that were paid for are paid back. */
  round_void: {
    roundId: string;
    kind: 'chat' | 'legacy';
    reason: string;
    successor: string | null;
    type: 'round_void';
    category: 'round';
    at: Instant;
  };

  /** A held score was accepted or rejected, or an accepted one was voided. To its wallet only. */
  score_decided: {
    scoreId: string;
    gameId: string;
    decision: 'accepted' | 'rejected' | 'voided';
    pointsAwarded: number;
    reason?: string;
    type: 'score_decided';
    category: 'gameplay';
    at: Instant;
  };

  /** A score waits for a decision. To its wallet only. */
  score_held: { scoreId: string; gameId: string; reasons: string[]; type: 'score_held'; category: 'gameplay'; at: Instant };

  /** Scores were accepted. Broadcast at most 20 times a second as { wallet, gameId, score, rank }; a wallet’s own streams get each of its own in full. */
  score_update: {
    updates: (
      | { wallet: string; gameId: string; score: number; rank: number | null }
      | { wallet: string; gameId: string; score: number; scoreId: string; pointsAwarded: number; personalBest: boolean }
    )[];
    type: 'score_update';
    category: 'gameplay';
    at: Instant;
  };

  /** The theme of the arcade changed. */
  theme_changed: { theme: { [key: string]: unknown }; version: number; type: 'theme_changed'; category: 'system'; at: Instant };

  /** A ticket counts. To its wallet only. */
  ticket_confirmed: {
    roundId: string;
    ticketId: string;
    ticketNumber: number;
    signature: string | null;
    type: 'ticket_confirmed';
    category: 'round';
    at: Instant;
  };

  /** A ticket does not count; what was paid for it is paid back. To its wallet only. */
  ticket_refused: {
    roundId: string;
    ticketId: string;
    signature: string | null;
    reason: string;
    refund: string | null;
    type: 'ticket_refused';
    category: 'round';
    at: Instant;
  };

  /** A wallet won a prize; it is paid by itself. */
  winner_announced: {
    roundId: string;
    kind: 'chat' | 'legacy';
    place: number;
    wallet: string;
    prize: { amount: string; mint: 'reward' | 'usdc' };
    type: 'winner_announced';
    category: 'round';
    at: Instant;
  };

  /** Events may be missing: read what you show anew, for instance at these paths. */
  reset: { type: 'reset'; category: 'system'; at: Instant; links: { leaderboard: string; arcade: string } };
}
