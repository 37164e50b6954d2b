// Written by packages/client/generate.ts from the routes and events of the service. Do not edit.

import type { Bytes } from './bytes.ts';

export type AcceptKeysRequest = {
  /** Names of all keys that differ, which shows that the operator has seen each of them. */
  changed: ('program' | 'rewardMint' | 'usdcMint' | 'feePayer' | 'epochAuthority' | 'treasury' | 'committer')[];
};

export type Acknowledged = { received: true };

export type Action = {
  type: 'action';

  /** Absolute URL of a PNG or SVG image. */
  icon: string;
  title: string;
  description: string;

  /** Text of the button, at most five words. */
  label: string;

  /** Whether the action cannot be done now. `error` is then the reason. */
  disabled: boolean;
  error?: { message: string };
  links: {
    actions: {
      type: 'transaction';

      /** Path to which the client posts the account. */
      href: string;

      /** Text of the button, at most five words. */
      label: string;
    }[];
  };
};

export type ActionError = {
  /** One sentence, which the client shows to the user. */
  message: string;
};

export type ActionRequest = {
  /** The wallet that signs the transaction and pays its fee. */
  account: Wallet;
} & { [key: string]: unknown };

export type ActionTransaction = {
  type: 'transaction';

  /** The unsigned transaction, base64. The account pays its fee. */
  transaction: string;

  /** One or two sentences about the transaction. */
  message: string;
  links: {
    next: {
      type: 'inline';
      action: {
        type: 'completed';

        /** Absolute URL of a PNG or SVG image. */
        icon: string;
        title: string;
        description: string;

        /** Text of the button, at most five words. */
        label: string;
        disabled: true;
      };
    };
  };
};

export type ActionsFile = {
  rules: {
    /** `*` matches one segment of the path, `**` any number. */
    pathPattern: string;

    /** Path of the action. */
    apiPath: string;
  }[];
};

export type ActiveEvent = {
  type: 'chat_round' | 'burn_event' | 'arcade_event';
  id: Id;
  title: string;
  startsAt: Instant;

  /** End of the event. For a chat round, its closing time; the draw follows. */
  endsAt: Instant | null;

  /** State of a chat_round. active: accepts entries until `endsAt`. closing, committed: closed, not drawn yet. Absent for other events. */
  status?: 'active' | 'closing' | 'committed';

  /** Free-form payload of an arcade_event; absent for other events and for an event without a payload. */
  payload?: unknown;
};

export type AdjustmentRequest = {
  /** Points to give; negative to take points. */
  points: number;

  /** Why the points are given or taken. */
  reason: string;
  mode?: 'regular' | 'beta';

  /** Whether the reward epoch of the current day counts the points. false: the points count on boards only. */
  rewards?: boolean;
};

export type Appeal = {
  appealId: Id;

  /** score: a score that is held, rejected or voided. ban: the ban of the wallet. clip: a removed clip. chat: a deleted message, or without an id a mute or ban in chat. */
  kind: 'score' | 'ban' | 'clip' | 'chat';

  /** Id of the score, clip or message; null for a ban or a mute. */
  caseId: Id | null;

  /** Time of the decision that the appeal answers. */
  since: Instant;
  text: string;
  at: Instant;
  status: 'open' | 'granted' | 'refused';

  /** Answer of the operator; null while the appeal is open. */
  answer: string | null;
  decidedAt: Instant | null;
  wallet: Wallet;

  /** Name of the admin token. */
  decidedBy: string | null;
};

export type AppealDecision = {
  decision: 'grant' | 'refuse';

  /** What the wallet reads as the answer. */
  answer: string;
};

export type AppealRequest = {
  /** score: a score that is held, rejected or voided. ban: the ban of the wallet. clip: a removed clip. chat: a deleted message, or without an id a mute or ban in chat. */
  kind: 'score' | 'ban' | 'clip' | 'chat';

  /** Id of the score, clip or message. */
  id?: Id;
  text: string;
};

export type Approval = {
  approvalId: Id;

  /** import: an import of an epoch. grant: points for a wallet, a conversion of beta points or the completion of a quest. limit: pool or cap of the reward rules. */
  kind: 'import' | 'grant' | 'limit';

  /** approved: the action was carried out. */
  status: 'pending' | 'approved' | 'refused';

  /** Amount of the action: base units, or points for a grant. */
  amount: string;

  /** What the action does. */
  summary: string;

  /** Name of the token that requested the action. */
  requestedBy: string;
  requestedAt: Instant;

  /** Time after which the action can no longer be approved. */
  expiresAt: Instant;

  /** Name of the token that approved or refused the action. */
  decidedBy: string | null;
  decidedAt: Instant | null;
};

export type ArcadeEvent = { id: Id; name: string; payload?: unknown; startsAt: Instant; endsAt: Instant };

export type ArcadeEventRequest = {
  /** Name of the event, for front ends: they identify the event by its name or show the name. */
  name: string;

  /** Free-form data for front ends, up to 8 KB. */
  payload?: unknown;

  /** Time for which the event is active, seconds. The event is broadcast once. */
  durationSec?: number;

  /** Time at which the event begins; at once when absent or in the past. */
  startsAt?: Instant;
};

export type ArcadeState = {
  /** The look of the arcade; free-form. */
  theme: { [key: string]: unknown };
  themeVersion: number;

  /** Active events: at most 10 chat rounds (the active one, then those that are not drawn yet), the burn event, then at most 50 one-time events, newest first. */
  activeEvents: ActiveEvent[];
  arcade: {
    name: string;

    /** Number of games. */
    games: number;
    categories: Slug[];

    /** Number of cabinets. */
    cabinets: number;

    /** Number of possessed cabinets. */
    possessed: number;
  };
};

export type AuditEntry = {
  /** Number of the entry, from 1 on without gaps. */
  id: string;

  /** Time of the request. */
  at: Instant;

  /** Name of the admin token. */
  tokenName: string;
  method: string;

  /** Path with the query string. */
  path: string;

  /** SHA-256 of the received body, hex. For a streamed body, the SHA-256 of an empty body. */
  bodyHash: string;

  /** Hash of the previous entry, hex; empty for the first entry. */
  previousHash: string;

  /** SHA-256(previousHash ‖ the JSON array [id, at, tokenName, method, path, bodyHash]), hex. In the array, `at` has six decimals: …123000Z instead of …123Z. */
  hash: string;
};

export type AutoStart = {
  /** Seconds from the start of one round to the start of the next. The next round waits while a round is active. */
  intervalSec: number;

  /** The terms of every round. In the title, `{n}` is replaced by the round’s number in the schedule and `{date}` by its UTC day. */
  template: ChatRoundTerms;

  /** Start time of the first round; the others follow at the interval. With a time in the past, one round starts now and the next one at the next multiple of the interval. Less than a year away. */
  startAt?: Instant;
};

export type AutoStatus = {
  running: boolean;

  /** Interval in seconds; null before the first start. */
  intervalSec: number | null;
  template: ChatRoundTermsOutput | null;

  /** Start time of the next round; null while the schedule is stopped. A time in the past means that the round waits or could not start. */
  nextAt: Instant | null;

  /** The most recently started round. */
  lastRound: string | null;
  lastStartedAt: Instant | null;

  /** The error of the last failed start, which is retried; null after a successful start. */
  lastError: string | null;

  /** Name of the admin token that last started the schedule. */
  startedBy: string | null;
};

export type Ban = { wallet: Wallet; banned: boolean };

export type BanRequest = { reason: string };

export type Battle = {
  id: Id;

  /** open: wallets can join. running: scores that name the battle count. finished: it has a result, about a second after its end. expired: it did not start in time. */
  status: 'open' | 'running' | 'finished' | 'expired';
  game: BattleGame;
  maxPlayers: number;
  durationSec: number;

  /** The creator, who can start the battle before all seats are taken. */
  createdBy: string;
  createdAt: Instant;

  /** How to join the battle; null when wallets can no longer join. */
  join: {
    /** Send a POST to this path to take a seat. */
    path: string;
    seatsLeft: number;

    /** Time at which the battle expires if it does not start. */
    expiresAt: Instant;
  } | null;
  startedAt: Instant | null;

  /** End of the battle; scores that are accepted before it count. When all participants have a score, the battle ends early and this time changes. null before the start. */
  endsAt: Instant | null;

  /** Time at which the battle was finished or expired. */
  endedAt: Instant | null;

  /** Participants, sorted by seat. */
  participants: {
    /** The wallet that has the seat. */
    wallet: string;

    /** Number of the seat in the order of joining; the creator has seat 1. */
    seat: number;
    joinedAt: Instant;

    /** Best normalized score that counts, normally updated within a second; null without a score. */
    score: number | null;

    /** Number of scores that count. */
    scores: number;

    /** Place in the result; equal scores share a place. null until the battle is finished, and for a participant without a score. */
    place: number | null;
  }[];

  /** Wallets on place 1. Empty until the battle is finished, and if no participant has a score. */
  winners: string[];
};

/** The game with its current configuration. */
export type BattleGame = {
  id: Slug;
  name: string;
  category: Slug;
  verification: Verification;
  version: number;
  normalization: Normalization;
  caps: PublicGameCaps;
};

export type BattleTerms = {
  gameId: Slug;

  /** Number of seats. The battle starts when all are taken. */
  maxPlayers?: number;

  /** Time from start to end, seconds. */
  durationSec?: number;
};

export type BetaPoints = {
  /** Beta points of the wallet that are not converted: earned minus converted. Negative when points were voided after their conversion. */
  total: Points;

  /** Beta points of all time, minus voided points: total plus converted. */
  earned: Points;

  /** Converted beta points. */
  converted: Points;
  sources: PointSources;

  /** Games with an accepted score, highest best score first. */
  games: GameLine[];
};

export type BetaPreference = {
  /** Whether new points are beta points. */
  enabled: boolean;
};

export type BetaPreferenceRequest = {
  /** New value. When absent, the preference is toggled. */
  enabled?: boolean;
};

export type BetaStats = {
  /** Whether new points are beta points. */
  enabled: boolean;
  points: {
    /** Beta points of the wallet that are not converted: earned minus converted. Negative when points were voided after their conversion. */
    total: Points;

    /** Beta points of all time, minus voided points: total plus converted. */
    earned: Points;

    /** Beta points of this UTC day. */
    today: Points;

    /** Beta points of this ISO week. */
    week: Points;
  };

  /** Games with an accepted beta score. */
  gamesPlayed: number;

  /** Accepted beta scores. */
  scores: number;
  converted: {
    /** Converted beta points. */
    betaPoints: Points;

    /** Resulting regular points. */
    points: Points;

    /** The newest conversions, newest first, at most 20. */
    conversions: PastConversion[];
  };
};

export type BindRequest = {
  /** Referral code, in any case. */
  code: string;
};

export type BoardRank = {
  /** Rank of the wallet; null without points. */
  rank: number | null;
  score: Points;

  /** Percentage of the wallets on the board whose rank is not better; null without a rank. */
  percentile: number | null;

  /** Difference to the next better score on the board; null for the best wallet, and without a rank. */
  pointsToNext: number | null;

  /** The two lines before and the two lines after this wallet. */
  neighbours: LeaderboardEntry[];
};

export type BridgedMessage = {
  /** Name of the bridged chat: 1 to 32 lower-case letters, digits and hyphens; not `chat` or `chain`. */
  platform?: unknown;

  /** Id of the message in the bridged chat, at most 256 characters. */
  messageId?: unknown;

  /** `id`: the permanent id of the account, at most 256 characters. `handle`: the display name, at most 100 characters. */
  author?: unknown;

  /** The message, at most 500 characters. */
  text?: unknown;

  /** Time of writing, ISO 8601. */
  at?: unknown;
} & { [key: string]: unknown };

export type BurnEvent = {
  id: Id;
  title: string;
  description: string | null;
  status: 'pending' | 'active' | 'ended';

  /** Mint of the burned token. */
  mint: string;

  /** Duration from the activation, seconds. */
  durationSec: number;

  /** Memo that the burn transaction must contain, by source. A transaction that contains none of these memos, or several, does not count. */
  memos: { referral: string; game: string; social: string };

  /** Wallet that created the event. */
  createdBy: string;
  createdAt: Instant;

  /** Burns in blocks from this time on count. It is some seconds before the activation, because the chain’s clock may be behind. */
  activatedAt: Instant | null;

  /** Burns in blocks before this time count. */
  endsAt: Instant | null;

  /** Whether the event has ended and all its burns are recorded, so that the totals do not change any more. */
  final: boolean;

  /** Wallets with at least one burn. */
  participants: number;

  /** Total burned amount, base units. */
  burnTotal: string;
  bySource: BurnedBySource;
};

export type BurnEventTerms = {
  title: string;
  description?: string;

  /** Duration from the activation, seconds. */
  durationSec: number;
};

export type BurnRank = {
  /** Rank by the total burned amount; null for a wallet that burned nothing. */
  rank: number | null;

  /** Amount burned by the caller, base units. */
  burned: string;

  /** Share of the participants with the same or a lower rank, percent; null without a rank. */
  percentile: number | null;
  bySource: BurnedBySource;
};

export type BurnStanding = {
  /** Competition rank: wallets with equal amounts share a rank, and the following ranks are skipped. */
  rank: number;

  /** Address of the wallet. */
  wallet: string;

  /** Burned amount, base units. */
  amount: string;
};

export type BurnTransaction = {
  /** The transaction with an empty signature, base64. The wallet signs it, pays its fee and sends it. */
  transaction: string;
  memo: string;

  /** Mint of the burned token. */
  mint: string;

  /** Token account whose tokens the transaction burns: the associated token account of the caller. */
  tokenAccount: string;

  /** Amount that the transaction burns, base units. */
  amount: string;

  /** Recent blockhash of the transaction. */
  blockhash: string;

  /** Last block height at which the transaction can land, about a minute from now. After that, request a new transaction. */
  lastValidBlockHeight: number;
};

export type BurnTransactionRequest = {
  /** Amount to burn, base units. */
  amount: string;

  /** Source that the memo names. */
  source: 'referral' | 'game' | 'social';
};

/** Burned amounts per source. Only burns whose source was valid at the time of the burn are included. */
export type BurnedBySource = {
  /** Burns of referred wallets, base units. */
  referral: string;

  /** Burns of wallets that played in the 24 hours before, base units. */
  game: string;

  /** Burns of wallets with a linked account, base units. */
  social: string;
};

export type Cabinet = {
  id: Slug;
  gameId: Slug;
  status: 'normal' | 'possessed';

  /** The entity that controls the cabinet; null in normal operation. */
  possessedBy: string | null;

  /** Free-form data for front ends, such as name and position. */
  display: { [key: string]: unknown };
  version: number;
};

export type CabinetReleaseRequest = { cabinetId: Slug };

export type CabinetRequest = {
  gameId: string;

  /** Free-form data for front ends, such as name and position, up to 16 KB. */
  display: { [key: string]: unknown };
};

export type ChainRecord = {
  /** Reason why nothing is signed; null when transactions are signed. */
  stop: string | null;

  /** Reason why roots are paused until the chain is explained; null when they are not. */
  doubt: string | null;

  /** Finalized block height after which nothing can land that was signed before the doubt; null when it was not read, or there is no doubt. */
  afterHeight: number | null;

  /** The keys and mints that the database records. */
  keys: SigningKeys | null;

  /** The keys and mints of the workers while `stop` is set; null otherwise. */
  otherKeys: SigningKeys | null;

  /** Names of the keys that differ. */
  changed: ('program' | 'rewardMint' | 'usdcMint' | 'feePayer' | 'epochAuthority' | 'treasury' | 'committer')[];

  /** Transaction kinds that are paused because the RPC providers contradict each other. */
  contradictions: ProviderContradiction[];
};

export type ChainTransaction = {
  id: Id;
  kind: string;
  subject: string;

  /** `queued`: a retry is scheduled. */
  state: 'manual' | 'failed' | 'queued';
  attempts: number;
  signature: string | null;

  /** Error of the latest attempt: `{ name, message, instruction, code }`. */
  error: __schema0;

  /** Result of the latest status check of the latest attempt. */
  evidence: __schema1;
  createdAt: Instant;
  changedAt: Instant;
};

export type ChatMessage = {
  messageId: Id;

  /** `chat` for the service’s own chat, or the name of the bridged chat. */
  source: string;

  /** The author’s wallet; null when a bridged author has linked no wallet. */
  wallet: string | null;

  /** Display name of a bridged author. */
  handle: string | null;
  text: string;
  entryId: Id | null;
  at: Instant;
};

export type ChatMessageReceipt = {
  messageId: Id;

  /** The entry that the message made, if any. */
  entry?: {
    id: Id;

    /** Index of the entry in the order of acceptance, starting at 0. */
    sequence: number;

    /** The numbers in ascending order. */
    numbers: number[];
    receipt: EntryReceipt;
  };
};

export type ChatMessageRequest = {
  /** One line of text. `!enter`, alone or with numbers, makes an entry of the active round. */
  text: string;
};

export type ChatMessages = {
  messages: ChatMessage[];

  /** Value of `before` for the next page; null on the last page. */
  next: Id | null;
};

export type ChatModeration = {
  action: 'delete' | 'mute' | 'unmute' | 'ban' | 'unban';
  messageId: Id | null;
  wallet: string | null;
  account: { platform: string; id: string } | null;

  /** End of the mute. */
  until: Instant | null;
};

export type ChatModerationRequest =
  | {
      action: 'delete';
      messageId: Id;

      /** Why; the author can read it. */
      reason?: string;
    }
  | {
      action: 'mute';

      /** A wallet, with all accounts that are linked to it. */
      wallet?: Wallet;

      /** One account of a bridged chat. */
      account?: { platform: string; id: string };
      minutes: number;

      /** Why; the author can read it. */
      reason?: string;
    }
  | {
      action: 'unmute' | 'ban' | 'unban';

      /** A wallet, with all accounts that are linked to it. */
      wallet?: Wallet;

      /** One account of a bridged chat. */
      account?: { platform: string; id: string };

      /** Why; the author can read it. */
      reason?: string;
    };

export type ChatRound = {
  id: string;

  /** pending: created, not started. active: accepts entries. closing: entries are frozen, their commitment is not final yet. committed: the commitment is finalized on the chain; the draw waits for the beacon. finalized: drawn. void: ended without entries. */
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** Number of accepted entries. */
  entries: number;
  opensAt: Instant | null;

  /** Closing time; the time at which the round was closed, if its creator closed it early. */
  closesAt: Instant | null;

  /** All rules of the draw, frozen when the round opens; null before. */
  parameters:
    | {
        kind: 'chat';
        picks: number;
        range: number;
        prizes: { place: number; amount: string; mint: Wallet }[];
        maxEntriesPerWallet: number;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      }
    | {
        kind: 'legacy';
        ticketPrice: string;
        mint: Wallet;
        maxTickets: number | null;
        maxTicketsPerWallet: number | null;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      }
    | null;

  /** Hash of the parameters. Every receipt contains it. */
  parametersHash: string | null;

  /** The signed announcement of the round; null before the round opens. */
  announcement: {
    statement: { type: 'coinop/announcement/1'; draws: Wallet; round: string; parametersHash: string; announcedAt: string };
    signature: string;
  } | null;

  /** The signed statement about the entries at the close; null before. */
  closed: {
    statement: {
      type: 'coinop/closed/1';
      draws: Wallet;
      round: string;
      parametersHash: string;
      closedAt: string;
      count: number;
      runningHash: string;
    };
    signature: string;
  } | null;

  /** Running hash after the last entry; null before the round opens. */
  runningHash: string | null;

  /** Root of the Merkle tree over all entries; null before they are frozen. */
  entriesRoot: string | null;
  commitment: RoundCommitment | null;

  /** The beacon round was due more than `drawWithinSec` ago, and the round is not drawn yet. */
  overdue: boolean;
  voidReason: 'no-entries' | null;
  createdAt: Instant;
  endedAt: Instant | null;
  title: string;
  picks: number;
  range: number;
  prizes: Prize[];
  durationSec: number;
  maxEntriesPerWallet: number;
  entryRules: EntryRules;
};

export type ChatRoundTerms = {
  title: string;

  /** Number of numbers in an entry and in the draw. */
  picks?: number;

  /** The highest number; the lowest is 1. */
  range?: number;

  /** The prizes by place: the first is for the first winner. */
  prizes: Prize[];

  /** Seconds during which entries are accepted. */
  durationSec: number;
  maxEntriesPerWallet?: number;

  /** Terms that a wallet must meet to enter; an entry of another wallet is refused (403). */
  entryRules?: EntryRules;
};

export type ChatRoundTermsOutput = {
  title: string;

  /** Number of numbers in an entry and in the draw. */
  picks: number;

  /** The highest number; the lowest is 1. */
  range: number;

  /** The prizes by place: the first is for the first winner. */
  prizes: Prize[];

  /** Seconds during which entries are accepted. */
  durationSec: number;
  maxEntriesPerWallet: number;

  /** Terms that a wallet must meet to enter; an entry of another wallet is refused (403). */
  entryRules: EntryRules;
};

export type ChatSlowMode = {
  /** Seconds that an author waits between two messages; 0 without slow mode. */
  seconds: number;
};

export type ChatStatus = {
  /** down: chat accepts no messages. degraded: chat accepts messages, but the event stream lags by more than 5 s, or a round is stuck. */
  status: 'ok' | 'degraded' | 'down';
  takesMessages: boolean;
  checks: { database: 'ok' | 'failed'; redis: 'ok' | 'failed' };

  /** Seconds that an author waits between two messages; 0 without slow mode; null while the database does not answer. */
  slowModeSec: number | null;

  /** The round that accepts entries, or null. This and the following fields are null while the database does not answer. */
  activeRound: { id: Id; closesAt: Instant } | null;

  /** The round that is active; without an active round, the newest round that is closed and not drawn yet; null without both. */
  currentRound: {
    id: Id;

    /** active: accepts entries until `closesAt`. closing, committed: closed, not drawn yet. */
    status: 'active' | 'closing' | 'committed';

    /** Closing time, also after the round is closed. */
    closesAt: Instant;

    /** Time from which the round can be drawn; null before its commitment is final. */
    drawDueAt: Instant | null;
  } | null;
  messagesLastMinute: number | null;
  lastMessageAt: Instant | null;

  /** Age of the oldest event that is not published to the stream yet; 0 when all are published. */
  streamLagMs: number | null;

  /** Number of delayed rounds: not closed a minute after the closing time, not committed an hour after closing, or not drawn an hour after the beacon round was due. */
  stuckRounds: number | null;
};

export type Claim = {
  claimId: Id;
  epoch: number;
  wallet: Wallet;

  /** Amount of the reward, base units. */
  amount: string;

  /** Signature of the transaction that claims or claimed the reward; null while there is no transaction or its signature is unknown. */
  signature: string | null;

  /** queued: not signed yet. submitted: sent to the chain. confirmed: the transaction is confirmed but not finalized. claimed: finalized. failed: the reward was not paid; the wallet can request the claim again. */
  status: 'queued' | 'submitted' | 'confirmed' | 'claimed' | 'failed';

  /** Reason why the claim failed; null when it has not failed. */
  reason: string | null;
  requestedAt: Instant;
  changedAt: Instant;
};

export type ClaimReceipt = {
  claimId: Id;
  epoch: number;
  wallet: Wallet;

  /** Amount of the reward, base units. */
  amount: string;

  /** Signature of the transaction that claims or claimed the reward; null while there is no transaction or its signature is unknown. */
  signature: string | null;

  /** queued: not signed yet. submitted: sent to the chain. confirmed: the transaction is confirmed but not finalized. claimed: finalized. failed: the reward was not paid; the wallet can request the claim again. */
  status: 'queued' | 'submitted' | 'confirmed' | 'claimed' | 'failed';
};

export type ClaimRequest = {
  /** The epoch: UTC days since 1970-01-01. */
  epoch: number;

  /** Sibling hashes from the leaf to the root, SHA-256 in hex. */
  proof: string[];
};

export type ClaimableReward = {
  /** UTC days since 1970-01-01. */
  epoch: number;

  /** Amount of the leaf. Base units. */
  amount: string;

  /** Index of the leaf in the tree. */
  index: number;

  /** claimable: can be claimed now. upcoming: can be claimed as soon as the root of the epoch is on the chain. settled: settled off-chain, or being settled, so it cannot be claimed. */
  status: 'claimable' | 'upcoming' | 'settled';

  /** Whether a claim of the reward is in flight. */
  claiming: boolean;

  /** Time until which the reward can be claimed; null before the root is on the chain. */
  expiresAt: Instant | null;
};

export type Clip = {
  id: Id;

  /** Wallet that uploaded the clip. */
  wallet: Wallet;
  gameId: Slug;
  title: string | null;

  /** Media type, detected from the content. */
  type: 'video/mp4' | 'video/webm' | 'image/gif';
  bytes: number;

  /** URL of the file; supports Range. */
  url: string;
  createdAt: Instant;
};

export type ClipUpload = {
  gameId: Slug;

  /** Title, one line. */
  title?: string;

  /** The clip: video/mp4, video/webm, image/gif; at most 52428800 bytes. Its file name is ignored. */
  file: string;
};

export type CompleteQuest = { wallet: Wallet };

export type CompleteTask = { taskId: Slug };

export type ConversionRequest = {
  wallet: Wallet;

  /** Regular points per beta point. */
  rate?: string;
};

export type ConversionResult = {
  /** Id of the conversion; null when no points were converted. */
  id: Id | null;
  wallet: Wallet;
  rate: string;

  /** Converted beta points. */
  betaPoints: Points;

  /** Resulting regular points, rounded down. */
  points: Points;

  /** Beta points of the wallet that are not converted, after the conversion. */
  betaTotal: Points;

  /** Regular points of the wallet after the conversion. */
  total: Points;
};

export type CrcAnswer = { response_token: string };

export type Day = string;

export type DecisionRequest = { decision: 'accept' | 'reject'; reason?: string };

export type Decisions = {
  /** Scores that this request decided. */
  decided: number;

  /** Scores that the request did not change, for example because they were decided before. */
  skipped: { scoreId: Id; error: string }[];

  /** Scores that still match the filter; send the request again for them. 0 for ids. */
  left: number;
};

export type DecisionsRequest = {
  /** The scores to decide. */
  ids?: Id[];

  /** The oldest 500 scores that match all given fields. */
  filter?: {
    /** Only scores of this wallet. */
    wallet?: Wallet;

    /** Only scores in this game. */
    gameId?: Slug;

    /** Text that one of the reasons contains; capitals do not matter. */
    reason?: string;

    /** Only scores that were submitted before this time. */
    before?: Instant;
  };

  /** accept, reject: for held scores. void: for accepted scores. */
  decision: 'accept' | 'reject' | 'void';
  reason: string;
};

export type DrawnInteger = {
  counter: number;

  /** The value is drawn from 0 to bound − 1. */
  bound: number;

  /** A u64; value = raw mod bound. */
  raw: string;

  /** Earlier raw values, rejected because they are at least 2^64 − (2^64 mod bound). */
  rejected: string[];
  value: number;
};

export type Eligibility = {
  /** Whether the balance is at least the minimum. */
  eligible: boolean;

  /** Token balance over all token accounts of the wallet, including frozen accounts, base units. */
  tokenBalance: string;

  /** Minimum balance of the gate, base units. */
  minimum: string;

  /** Mint of the token. */
  mint: Wallet;

  /** Time at which the balance was read from the RPC node. */
  checkedAt: Instant;
};

export type EntriesRoot = {
  root: string;

  /** Number of entries under the root. */
  count: number;
  algorithm: { hash: 'sha256'; leaf: string; node: string; oddNode: string };
};

export type EntryProof = {
  entry: {
    /** The entry’s id. */
    id: string;

    /** Position in the order of acceptance, starting at 0. */
    index: number;
    wallet: Wallet;

    /** The numbers in ascending order; empty for a ticket. */
    numbers: number[];

    /** The origin: `chat` (the service’s own chat), the name of a bridged chat, `chain` (a paid ticket) or `ticket` (a free ticket). */
    source: string;

    /** Id of the message at the origin. For a paid ticket, the signature of its transaction. */
    messageId: string;
    at: string;
  };

  /** Position in the order of acceptance, starting at 0. */
  index: number;
  leaf: string;

  /** Sibling hashes from the leaf to the root. A node that moves up alone has no sibling. */
  proof: string[];
  root: string;
};

/** A signed receipt of an accepted entry. `signature` is the ed25519 signature, hex, of the receipt key over the canonical JSON (RFC 8785) of `statement`. The draws account on the chain names the receipt key. `runningHash` covers all entries of the round up to this one. */
export type EntryReceipt = {
  statement: {
    type: 'coinop/receipt/1';
    draws: Wallet;
    round: string;
    parametersHash: string;
    entry: string;
    index: number;
    wallet: Wallet;
    numbers: number[];
    source: string;
    messageId: string;
    at: string;
    leaf: string;
    runningHash: string;
  };
  signature: string;
};

export type EntryRules = {
  /** The wallet holds at least this amount of the token. */
  minTokenBalance?: Prize;

  /** The wallet has at least this many accepted scores. */
  minAcceptedScores?: number;

  /** The wallet has linked an account of this network before the round opened. */
  linkedAccount?: string;

  /** The wallet signed in for the first time before this time. */
  signedInBefore?: Instant;
};

export type Erasure = {
  erasureId: Id;

  /** record: a game record. state: a saved state. clip: a clip with its file. chat: a chat message. name: the `.sol` name and the linked accounts of a wallet. */
  kind: 'record' | 'state' | 'clip' | 'chat' | 'name';

  /** Id of the record, clip or message; `<wallet>/<game>` of a state; the wallet of names. */
  id: string;
  reason: string;

  /** Name of the admin token. */
  by: string;
  at: Instant;
};

export type ErasureRequest = {
  /** record: a game record. state: a saved state. clip: a clip with its file. chat: a chat message. name: the `.sol` name and the linked accounts of a wallet. */
  kind: 'record' | 'state' | 'clip' | 'chat' | 'name';

  /** Id of the record, clip or message; `<wallet>/<game>` of a state; the wallet of names. */
  id: string;

  /** Reference of the lawful request. */
  reason: string;
};

export type Error = {
  /** One sentence with the field and its requirement. */
  error: string;
};

export type Exclusion = {
  /** Whether the wallet is excluded now. */
  excluded: boolean;

  /** Begin of the last exclusion; null when the wallet never excluded itself. */
  since: Instant | null;

  /** End of the last exclusion; null when the wallet never excluded itself. */
  until: Instant | null;
};

export type ExclusionRequest = {
  /** End of the exclusion: at least a day ahead. */
  until?: Instant;

  /** Length of the exclusion from now, days. */
  days?: number;
};

export type FinalizedRound = {
  id: string;
  title: string;
  numbers: number[];
  entries: number;

  /** Number of wallets that won. */
  winners: number;
  prizes: { amount: string; mint: 'reward' | 'usdc' }[];
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

  /** A play ends when its wallet has started this many newer plays of the game. */
  maxLivePlays: number;
  review: ReviewRulesOutput;
  rewards: boolean;

  /** Required if the verification is replay: the hash of a module that `PUT /admin/games/{id}/simulation` stored. */
  simulation?: string;
  id: Slug;
  version: number;
  hasSecret: boolean;
};

export type GameCaps = {
  /** Maximum points that a wallet can earn in this game per UTC day. */
  dailyPoints: number;

  /** Raw score per second of play. A score above this rate is held for a moderator. */
  scorePerSec?: number;

  /** Minimum duration of a play, ms. Shorter plays are refused. */
  minDurationMs?: number;

  /** Maximum duration of a play, ms. Longer plays are refused. */
  maxDurationMs?: number;
};

export type GameCapsOutput = {
  /** Maximum points that a wallet can earn in this game per UTC day. */
  dailyPoints: number;

  /** Raw score per second of play. A score above this rate is held for a moderator. */
  scorePerSec?: number;

  /** Minimum duration of a play, ms. Shorter plays are refused. */
  minDurationMs: number;

  /** Maximum duration of a play, ms. Longer plays are refused. */
  maxDurationMs: number;
};

export type GameId = Slug;

export type GameLine = {
  gameId: string;

  /** Best normalized score, 0 to 10,000. */
  best: number;

  /** Accepted scores. */
  scores: number;

  /** Points from these scores. */
  points: Points;
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

  /** A play ends when its wallet has started this many newer plays of the game. */
  maxLivePlays?: number;
  review?: ReviewRules;

  /** Whether points of this game count for reward epochs. By default true unless the verification is none. */
  rewards?: boolean;

  /** Required if the verification is replay: the hash of a module that `PUT /admin/games/{id}/simulation` stored. */
  simulation?: string;

  /** HMAC secret for the signatures of scores. null removes the secret; without this field the secret stays. Responses never contain it. */
  secret?: string | null;
};

export type GameState = {
  gameId: Slug;

  /** The last saved state; null before the first save. */
  state: unknown;

  /** Version of the state; 0 before the first save. */
  version: number;
  updatedAt: Instant | null;
};

export type GameStateSaved = { gameId: Slug; version: number; updatedAt: Instant };

export type GameStats = {
  gameId: Slug;

  /** Plays in regular mode. A score without a play counts as a play. */
  totalPlays: number;

  /** Wallets with at least one of these plays. */
  uniquePlayers: number;

  /** Accepted scores in regular mode. Beta, held, rejected and voided scores do not count, so there are at most as many scores as plays. */
  totalScores: number;

  /** Average normalized value of these scores, rounded to two decimals; null while there are none. */
  averageScore: number | null;

  /** Highest normalized value of these scores; null while there are none. */
  bestScore: number | null;
};

export type GameSummary = {
  id: Slug;
  name: string;
  category: Slug;
  verification: Verification;

  /** What the verification of the game proves about an accepted score. */
  proves: string[];
  version: number;
};

export type GlobalStats = {
  /** Number of wallets on the board. */
  totalParticipants: number;

  /** Sum of all regular points, less points taken back. */
  totalPointsDistributed: Points;

  /** Points by origin. adjustments: points that operators gave, minus the points that they took. conversions: regular points for converted beta points. */
  pointsBySource: { games: Points; quests: Points; referrals: Points; adjustments: Points; conversions: Points };

  /** Best score on the board; null for an empty board. */
  topScore: number | null;

  /** Number of wallets on the board. */
  participantsToday: number;

  /** Sum of the points of the wallets on the board of the current UTC day. */
  pointsToday: Points;
};

/** SHA-256 in hex. */
export type Hash = string;

export type HoldRequest = { reason: string };

export type Id = string;

export type ImportEpochRequest = {
  /** The epoch: UTC days since 1970-01-01. The day must have ended. */
  epoch: number;

  /** Confirms that the total exceeds the pool, or that an amount exceeds the cap of the rules in force. Needs an admin token with the scope money; an internal token is refused. */
  overLimits?: boolean;

  /** Root that the caller computed, hex. The import is refused when the service computes another root. */
  root?: string;

  /** Wallets and their amounts in base units. The leaves of the tree have this order. */
  distribution: { wallet: string; amount: string }[];
};

/** ISO 8601 in UTC; with milliseconds in responses and events. */
export type Instant = string;

/** Public keys and addresses. A verifier stores them once and checks all results against them. */
export type Keys = {
  /** The program that accepts the commitments; null when this process has no such setting. */
  drawsProgram: Wallet | null;

  /** The draws account: it names the beacon, the committer and the receipt key. All rounds name it, and it never changes. */
  draws: Wallet | null;

  /** The ed25519 public key of receipts and of the other statements about rounds. */
  receiptKey: Wallet;

  /** The key that signs the commitments; null when this process has no such setting. */
  committer: Wallet | null;

  /** The wallet whose tokens pay the prizes. */
  treasury: Wallet | null;
  mints: {
    /** Mint of the arcade’s own token. */
    reward: Wallet | null;

    /** Mint of the stablecoin. */
    usdc: Wallet | null;
  };
  beacon: {
    /** Hash of the drand chain that decides the draws. */
    chainHash: string;
    publicKey: string;

    /** URLs that serve the beacon. */
    urls: string[];
  };
};

export type Leaderboard = LeaderboardEntry[];

export type LeaderboardEntry = {
  /** Competition rank (1224): wallets with the same score share a rank, and the following ranks are skipped. */
  rank: number;

  /** The wallet’s address. */
  wallet: string;

  /** Handle of the wallet’s linked account, or else the .sol name that the wallet chose (`PUT /me/name`); null without both. At most 2 seconds old. */
  name: string | null;
  score: number;

  /** The score as the game reported it, before its normalization; null on a board of points, because its score is a sum. */
  rawScore: RawScore | null;

  /** Time at which the wallet submitted this score, or the first of equal scores in the period; null on a board of points. */
  at: Instant | null;
};

export type LedgerEntry = {
  /** The unique key of the entry: source, reason, mode, wallet and cause. */
  id: string;
  wallet: string;
  mode: 'regular' | 'beta';

  /** Type of the cause. adjustment: an operator gave or took points. */
  source: 'score' | 'ban' | 'quest' | 'conversion' | 'adjustment';

  /** Id of the cause: of the score, quest and window, conversion or adjustment. */
  cause: string;

  /** Why the entry was written. revoke: it compensates another entry. */
  reason:
    | 'score'
    | 'void'
    | 'restore'
    | 'second-void'
    | 'referral'
    | 'referral-void'
    | 'referral-restore'
    | 'referral-second-void'
    | 'ban'
    | 'unban'
    | 'quest'
    | 'conversion'
    | 'adjustment'
    | 'revoke';

  /** Origin of the points. It decides which boards count them. */
  kind: 'game' | 'referral' | 'quest' | 'conversion' | 'adjustment';

  /** Negative when points were taken. */
  points: Points;

  /** Whether the reward epoch of the day counts the points. Epochs never count beta points. */
  rewards: boolean;

  /** UTC day on which the points count. */
  day: Day;
  at: Instant;

  /** Name of the admin token; null when no operator wrote the entry. */
  by: string | null;

  /** Reason that the operator gave. */
  note: string | null;

  /** Values from which the points were computed. */
  factors: { [key: string]: unknown } | null;

  /** Id of the entry that compensates this entry. */
  revokedBy: string | null;

  /** Id of the entry that this entry compensates. */
  revokes: string | null;
};

export type LegacyResult = {
  /** finalized: the winner is drawn. void: the round ended without a draw. */
  status: 'finalized' | 'void';

  /** Reason why the round is void, for example `no-entries` for a round without tickets; null when it is drawn. */
  voidReason: 'no-entries' | null;

  /** Index of the winning ticket, starting at 0; null when the round is void. */
  winningTicket: number | null;

  /** The wallet of the winning ticket; null when the round is void. */
  winner: Wallet | null;

  /** The prize in base units of the stablecoin; "0" when the round is void. */
  prizePool: string;

  /** Payment of the prize; null when there is no prize: tickets were free, or the round is void. */
  payout: {
    paymentId: Id;

    /** Status of the payment; `completed` is final. */
    status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

    /** Signature of the paying transaction; set when the payment is confirmed. */
    signature: string | null;
  } | null;
};

export type LegacyRound = {
  id: string;

  /** pending: created, not started. active: accepts entries. closing: entries are frozen, their commitment is not final yet. committed: the commitment is finalized on the chain; the draw waits for the beacon. finalized: drawn. void: ended without entries. */
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** Number of accepted entries. */
  entries: number;
  opensAt: Instant | null;

  /** Closing time; the time at which the round was closed, if its creator closed it early. */
  closesAt: Instant | null;

  /** All rules of the draw, frozen when the round opens; null before. */
  parameters:
    | {
        kind: 'chat';
        picks: number;
        range: number;
        prizes: { place: number; amount: string; mint: Wallet }[];
        maxEntriesPerWallet: number;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      }
    | {
        kind: 'legacy';
        ticketPrice: string;
        mint: Wallet;
        maxTickets: number | null;
        maxTicketsPerWallet: number | null;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      }
    | null;

  /** Hash of the parameters. Every receipt contains it. */
  parametersHash: string | null;

  /** The signed announcement of the round; null before the round opens. */
  announcement: {
    statement: { type: 'coinop/announcement/1'; draws: Wallet; round: string; parametersHash: string; announcedAt: string };
    signature: string;
  } | null;

  /** The signed statement about the entries at the close; null before. */
  closed: {
    statement: {
      type: 'coinop/closed/1';
      draws: Wallet;
      round: string;
      parametersHash: string;
      closedAt: string;
      count: number;
      runningHash: string;
    };
    signature: string;
  } | null;

  /** Running hash after the last entry; null before the round opens. */
  runningHash: string | null;

  /** Root of the Merkle tree over all entries; null before they are frozen. */
  entriesRoot: string | null;
  commitment: RoundCommitment | null;

  /** The beacon round was due more than `drawWithinSec` ago, and the round is not drawn yet. */
  overdue: boolean;
  voidReason: 'no-entries' | null;
  createdAt: Instant;
  endedAt: Instant | null;
  createdBy: string;

  /** Sum of the prices of all confirmed tickets, in base units of the stablecoin. */
  prizePool: string;

  /** Price in base units of the stablecoin; "0" means free. */
  ticketPrice: string;
  maxTickets: number | null;
  entryRules: EntryRules;

  /** Where to pay for a ticket: transfer exactly the price, in this mint, to this token account, with this memo. null when tickets are free. */
  payTo: { mint: string; treasury: string; tokenAccount: string; memo: string } | null;
  winningTicket: number | null;
  winner: string | null;
};

export type LegacyRoundTerms = {
  /** Price in base units of the stablecoin; "0" means free, with one ticket per wallet. */
  ticketPrice: string;

  /** Maximum tickets of the round; default 1,000,000. */
  maxTickets?: number;

  /** Closing time: in the future and at most 30 days ahead; default 24 hours ahead. */
  closesAt?: Instant;

  /** Terms that a wallet must meet to get a ticket; the request of another wallet is refused (403). */
  entryRules?: EntryRules;
};

export type Link = {
  platform: string;

  /** Permanent id of the account. */
  accountId: string;

  /** Current handle. */
  handle: string;
  linkedAt: Instant;
};

export type LinkStart = {
  platform: 'x';
  method: 'oauth' | 'challenge';

  /** URL to open: for oauth the sign-in page, which redirects back with `code` and `state`; for challenge the form of a new post with the text filled in. */
  url: string;

  /** oauth only: the state that the network returns. Only this wallet can use it, once. */
  state: string | null;

  /** challenge only: the text that the post must begin with. */
  challenge: string | null;

  /** Time until which the link can be verified, ten minutes after the start. */
  expiresAt: Instant;
};

export type LinkStartRequest = {
  /** Social network. */
  platform?: 'x';

  /** oauth: sign in to the network. challenge: post a text there. */
  method?: 'oauth' | 'challenge';
};

export type LinkVerifyRequest = {
  /** Social network. */
  platform?: 'x';

  /** Code that the network returned, with `state`. */
  code?: string;

  /** State from `start`, as the network returned it. */
  state?: string;

  /** URL of the post with the challenge; replaces code and state. */
  postUrl?: unknown & unknown;

  /** Id of the post with the challenge; replaces postUrl. */
  postId?: string;
};

export type Lobby = {
  game: GameSummary;
  stats: GameStats;

  /** The first 10 lines of the game’s all-time board. */
  leaderboard: Leaderboard;

  /** Number of wallets on this board. */
  players: number;

  /** The caller’s rank on this board; null without a session. */
  rank: BoardRank | null;

  /** The newest 10 open and running battles of the game. */
  battles: Battle[];

  /** Number of all open and running battles of the game. */
  activeBattles: number;

  /** The active events, as `/arcade/state` lists them. */
  activeEvents: ActiveEvent[];
};

export type Me = {
  wallet: Wallet;

  /** Whether the wallet holds enough of the token; true when no token is configured; null when the balance is unknown. */
  eligible: boolean | null;

  /** Token balance of the wallet, base units; null when no token is configured or the balance is unknown. */
  tokenBalance: string | null;
  session: { createdAt: Instant; expiresAt: Instant; lastExtendedAt: Instant };
};

export type ModePoints = {
  /** Points of all time: the sum of the ledger. In beta mode: the beta points that are not converted. */
  total: Points;
  sources: PointSources;

  /** Points of the current UTC periods, without conversions. */
  periods: { day: PeriodPoints; week: PeriodPoints; month: PeriodPoints; year: PeriodPoints };

  /** Games with an accepted score, highest best score first. */
  games: GameLine[];
};

export type ModeratedScore = {
  scoreId: Id;
  wallet: Wallet;
  gameId: Slug;
  status: ScoreStatus;
  score: RawScore;
  normalizedScore: number;

  /** Points that the score gives; 0 unless it is accepted, so 0 after a void. */
  pointsAwarded: number;

  /** Why `pointsAwarded` is 0; null when the score gives points. */
  noPointsReason: NoPointsReason | null;
  mode: 'regular' | 'beta';
  playId: Id | null;
  durationMs: number | null;
  reasons: string[];
  submittedAt: Instant;
  decidedAt: Instant | null;
  decidedBy: string | null;

  /** The newest appeal of the wallet about the score; null without one. */
  appeal: ScoreAppeal | null;
};

export type NewQuest = {
  title: string;
  description?: string;
  category?: Slug;
  requirement: QuestRequirement;
  gates?: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window?: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat?: 'once' | 'daily' | 'weekly';
  active?: boolean;

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task?: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId?: Slug | null;

  /** Generated when absent. */
  id?: Slug;
};

/** Why a score gives no points. held, rejected, voided: the score is not accepted. game-earns-nothing: no score of the game gives points. low-score: the normalized score is below one point. game-cap: the wallet had reached the daily cap of the game. daily-cap: it had reached the daily cap over all games. */
export type NoPointsReason = 'held' | 'rejected' | 'voided' | 'game-earns-nothing' | 'low-score' | 'game-cap' | 'daily-cap';

export type Normalization = {
  method: 'linear' | 'log' | 'piecewise';
  min: RawScore;
  max: RawScore;
  direction: 'higher' | 'lower';
  points?: { score: RawScore; normalized: number }[];
};

export type NormalizationConfig = {
  /** The highest possible normalized score. */
  scale: 10000;

  /** Maximum points that a wallet can earn per UTC day over all games. */
  dailyPointsCap: number;
  games: {
    id: Slug;
    normalization: Normalization;

    /** Points for a normalized score of 10,000. */
    pointsPer10000: number;
    caps: PublicGameCaps;
    verification: Verification;

    /** Whether points of this game count for reward epochs. */
    rewards: boolean;
  }[];
};

export type Notification = {
  id: Id;
  wallet: string | null;
  title: string;
  text: string;
  link: string | null;

  /** Name of the admin token. */
  by: string;
  at: Instant;
};

export type NotificationRequest = {
  /** The wallet that gets the notification; everybody when null or absent. */
  wallet?: Wallet | null;
  title: string;
  text: string;
  link?: string | null;
};

export type OweRequest = {
  wallet: Wallet;
  currency: 'usdc' | 'reward';

  /** Amount, base units. */
  amount: string;

  /** Unique reference of the payment, chosen by the caller. One reference has at most one payment. */
  reference: string;
};

export type OwnAppeal = {
  appealId: Id;

  /** score: a score that is held, rejected or voided. ban: the ban of the wallet. clip: a removed clip. chat: a deleted message, or without an id a mute or ban in chat. */
  kind: 'score' | 'ban' | 'clip' | 'chat';

  /** Id of the score, clip or message; null for a ban or a mute. */
  caseId: Id | null;

  /** Time of the decision that the appeal answers. */
  since: Instant;
  text: string;
  at: Instant;
  status: 'open' | 'granted' | 'refused';

  /** Answer of the operator; null while the appeal is open. */
  answer: string | null;
  decidedAt: Instant | null;
};

export type OwnChatMessage = {
  messageId: Id;

  /** `chat` for the service’s own chat, or the name of the bridged chat. */
  source: string;

  /** Null after the deletion of the text. */
  text: string | null;
  entryId: Id | null;
  at: Instant;
  deletedAt: Instant | null;

  /** Why a moderator deleted the text; null without a reason. */
  deletedReason: string | null;
};

export type OwnClip = {
  id: Id;
  gameId: Slug;
  title: string | null;

  /** Media type, detected from the content. */
  type: 'video/mp4' | 'video/webm' | 'image/gif';
  bytes: number;
  createdAt: Instant;

  /** hidden: while the wallet is banned. */
  status: 'visible' | 'hidden' | 'removed';
  removedAt: Instant | null;

  /** Why the clip was removed; null without a reason. */
  removedReason: string | null;
};

export type OwnEntry = {
  /** Id of the entry, or of the ticket. */
  id: Id;

  /** chat: an entry of a chat round. legacy: a ticket of a legacy round. */
  kind: 'chat' | 'legacy';
  roundId: string;
  roundStatus: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** Status of the ticket; confirmed for an entry of a chat round. */
  status: 'checking' | 'confirmed' | 'refused';

  /** Index among the entries of the round, from 0 on; null for a ticket that is not confirmed. */
  index: number | null;

  /** The chosen numbers in ascending order; empty for a ticket. */
  numbers: number[];

  /** Reason why the ticket was refused; null otherwise. */
  reason: string | null;

  /** The prize of the entry, base units; null without a prize, and before the draw. */
  prize: { place: number; amount: string; mint: 'reward' | 'usdc' } | null;

  /** Time of the entry, or of the request of the ticket. */
  at: Instant;
};

export type OwnName = {
  /** Name with which lists show the wallet: the handle of its linked account, or else its chosen .sol name; null without both. */
  name: string | null;

  /** The .sol name that the wallet chose; null when it chose none. */
  solName: string | null;
};

export type OwnNameRequest = {
  /** A .sol name that resolves to the caller’s wallet; null to show none. */
  solName: string | null;
};

export type OwnQuest = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;
  gates: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId: Slug | null;

  /** One item per condition, in the order of the requirement. */
  progress: {
    condition: QuestCondition;

    /** Present value of the condition. Token amounts are strings, base units. */
    have: number | string;

    /** Value that the condition requires. Token amounts are strings, base units. */
    need: number | string;
    met: boolean;
  }[];

  /** Whether the whole requirement and all gates are met. */
  met: boolean;

  /** The unmet parts of the requirement and of the gates, one sentence each. */
  missing: string[];

  /** Window of this completion: `once`, a UTC day, or an ISO week. */
  windowKey: string;

  /** Whether the wallet has completed the quest in this window. */
  completed: boolean;
  completedAt: Instant | null;

  /** Points that the completion gave, after the multiplier; null before the completion. */
  pointsAwarded: number | null;

  /** Time from which the quest can be completed again (UTC); null when it can be completed only once. */
  resetsAt: Instant | null;
};

export type OwnSession = {
  /** Id of the session. It is neither the value of the cookie nor the token, and cannot be used to sign in. */
  id: string;
  createdAt: Instant;

  /** Time of the last use, up to an hour early. */
  lastUsedAt: Instant;

  /** The same as `lastUsedAt`. */
  lastExtendedAt: Instant;
  expiresAt: Instant;

  /** cookie: the session cookie. bearer: a session token. */
  transport: 'cookie' | 'bearer';

  /** The only origin that can use the session token; null for any. */
  origin: string | null;

  /** Whether this request uses the session. */
  current: boolean;
};

export type PastConversion = {
  id: Id;

  /** Regular points per beta point. */
  rate: string;

  /** Converted beta points. */
  betaPoints: Points;

  /** Resulting regular points. */
  points: Points;

  /** Whether an operator reversed the conversion. */
  revoked: boolean;
  at: Instant;
};

export type Payment = {
  id: Id;
  wallet: Wallet;
  currency: 'usdc' | 'reward';

  /** Amount, base units. */
  amount: string;
  cause: { kind: string; id: string };
  payer: 'treasury' | 'orchestrator';

  /** pending: not sent yet; batched: in a batch that is being sent; confirmed: the transaction landed, but a fork can still drop it; completed: the transaction is finalized; manual: an operator must decide, the amount stays owed. Only payments of the payer orchestrator have these: failed (the amount stays owed), reversed (a completed payment was taken back). */
  status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

  /** Signature of the transaction that paid the payment; null before the status confirmed, or when it is not known. */
  signature: string | null;

  /** Reason why the payment is delayed, failed or reversed; null otherwise. */
  reason: string | null;

  /** Creation time of the payment. */
  timestamp: Instant;
  updatedAt: Instant;
  completedAt: Instant | null;
};

export type PaymentResolution = { signature: string };

export type PaymentStatus = {
  /** `payment.status`, or `payment.` and the status in data: payment.pending, payment.completed, payment.failed, payment.reversed. A delivery of another type has no effect. */
  type?: unknown;

  /** Time of the status, ISO 8601. */
  timestamp?: unknown;

  /** `paymentId`, `wallet`, `amount` and `currency` of the payment; `status`: pending, completed, failed, reversed; `transactionSignature`: optional. */
  data?: unknown;
} & { [key: string]: unknown };

export type PayoutMember = {
  /** Id of the payment. */
  paymentId: string;
  round: string | null;
  place: number | null;
  wallet: Wallet;
  amount: string;
  mint: Wallet;
};

export type Payouts = {
  /** Reason why payouts are paused; null when payouts are not paused. */
  paused: string | null;

  /** Reason that an operator gave for pausing payouts; null when no operator paused them. */
  held: string | null;

  /** Difference between the chain and the database because of which payouts are paused; null when there is none. Payouts resume automatically when the difference is resolved. */
  doubt: string | null;

  /** Reason why no epoch is opened: the deployed distributor program differs from the committed one, has an unexpected upgrade authority, or cannot be read. Null when there is none. */
  distributor: string | null;

  /** Number of the treasury’s payments that are not completed, by status. */
  counts: { [key: string]: number };
  lanes: {
    lane: number;
    address: string;
    nonce: string | null;
    batch: Id | null;
    landed: string | null;
    stale: boolean;

    /** Reason why no batch can use the lane at present; null when there is none. */
    reason: string | null;

    /** Time since which the lane has a reason. */
    waitingSince: Instant | null;

    /** Progress of reading the transaction history of the lane: the number of transactions that were listed and read. Null while the database explains the nonce of the lane. */
    history: { listed: number; read: number; complete: boolean } | null;
  }[];

  /** Transactions on lanes that were found on the chain but not in the database. At most 100; transactions with the verdict unmatched first. */
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
  /** Amount, base units. */
  amount: string;
  payments: number;
};

export type PendingStablecoin = {
  wallet: Wallet;
  currency: 'usdc';

  /** Sum of the payments that are neither completed nor reversed, base units; "0" when there are none. */
  amount: string;
  payments: number;
};

export type Period = 'day' | 'week' | 'month' | 'year';

export type PeriodPoints = {
  /** All points of the period. */
  points: Points;

  /** Points from games. */
  games: Points;

  /** Points from quests. */
  quests: Points;

  /** Points from referrals. */
  referrals: Points;

  /** Points that operators gave, minus the points that they took. */
  adjustments: Points;
};

export type PeriodStats = {
  period: Period;

  /** First day of the period. */
  from: Day;

  /** Last day of the period. */
  to: Day;

  /** Number of wallets on the board. */
  participants: number;

  /** Sum of the points of the wallets on the board. Points that are taken back count on the day on which they are taken; a wallet with no points left in the period is not on the board. */
  points: Points;

  /** Best score on the board; null for an empty board. */
  topScore: number | null;

  /** Points per wallet on the board, rounded to two decimals; null for an empty board. */
  averageScore: number | null;
};

export type PlayReceipt = {
  playId: Id;
  gameId: Slug;
  startedAt: Instant;

  /** WebSocket URL for heartbeats; null unless the game’s verification is heartbeat. */
  heartbeatUrl: string | null;

  /** Seed of the simulation: 16 bytes, hex; null unless the game’s verification is replay. */
  seed: string | null;

  /** The simulation of the play; null unless the game’s verification is replay. */
  simulation: Simulation | null;
};

export type Player = {
  wallet: Wallet;

  /** Time of the first sign-in. */
  memberSince: Instant;

  /** Mode in which the wallet earns new points. */
  mode: 'regular' | 'beta';

  /** Points by source, period and game. */
  points: { regular: ModePoints; beta: ModePoints };
  linkedAccounts: { platform: string; handle: string; linkedAt: Instant }[];

  /** Sanctions in force. A sanction of a linked account in a bridged chat is not listed. */
  sanctions: {
    /** ban: from the arcade. */
    type: 'ban' | 'chat-ban' | 'chat-mute';
    since: Instant;

    /** End of a mute; null without an end. */
    until: Instant | null;

    /** Reason of a ban from the arcade. */
    reason: string | null;

    /** Admin token that decided about the chat; null for a ban from the arcade. */
    by: string | null;
  }[];
  scores: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: PlayerScore[];

    /** Path of the whole list. */
    list: string;
  };
  ledger: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: LedgerEntry[];

    /** Path of the whole list. */
    list: string;
  };
  quests: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: PlayerQuest[];

    /** Path of the whole list. */
    list: string;
  };
  entries: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: PlayerEntry[];

    /** Path of the whole list. */
    list: string;
  };
  tickets: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: PlayerTicket[];

    /** Path of the whole list. */
    list: string;
  };
  payments: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: Payment[];

    /** Path of the whole list. */
    list: string;
  };
  notes: {
    /** Number of all rows of the list. */
    total: number;

    /** At most 10 rows, newest first. */
    newest: WalletNote[];

    /** Path of the whole list. */
    list: string;
  };
};

export type PlayerEntry = { roundId: Id; entryId: Id; numbers: number[]; at: Instant };

export type PlayerQuest = {
  questId: string;
  window: string;
  mode: 'regular' | 'beta';

  /** Points of the completion; 0 when they were revoked. */
  points: number;

  /** Admin token that recorded the completion; null when the service did. */
  by: string | null;
  at: Instant;
};

export type PlayerScore = {
  scoreId: Id;
  gameId: string;
  status: 'accepted' | 'held' | 'rejected' | 'voided';
  score: RawScore;
  normalizedScore: number;

  /** Points that the score gives in its present state. */
  pointsAwarded: number;
  mode: 'regular' | 'beta';
  at: Instant;
};

export type PlayerTicket = {
  ticketId: Id;
  roundId: Id;
  status: 'checking' | 'confirmed' | 'refused';

  /** Reason of the refusal. */
  reason: string | null;
  at: Instant;
};

/** Points by source. They add up to the total. */
export type PointSources = {
  /** Points from games. */
  games: Points;

  /** Points from quests. */
  quests: Points;

  /** Points from referrals. */
  referrals: Points;

  /** Points that operators gave, minus the points that they took. */
  adjustments: Points;

  /** Conversions. Regular mode: points from converted beta points. Beta mode: minus the converted beta points. */
  conversions: Points;
};

/** Points; may be negative, because a void takes points back. */
export type Points = number;

export type PointsBreakdown = {
  wallet: Wallet;

  /** Mode in which the wallet earns new points. */
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
  /** The amount in base units. */
  amount: string;

  /** `reward`: the arcade’s own token. `usdc`: stablecoin. */
  mint: 'reward' | 'usdc';
};

export type Profile = {
  wallet: Wallet;

  /** Time of the first sign-in. */
  memberSince: Instant;
  points: {
    /** Regular points of all time. */
    total: Points;

    /** Regular points of this UTC day, without conversions. */
    today: Points;

    /** Regular points of this ISO week, without conversions. */
    week: Points;
    sources: PointSources;
  };

  /** Competition rank on the global leaderboard; null without points. */
  rank: number | null;

  /** Percentage of the wallets on the global leaderboard that have the same or a worse rank; null without a rank. */
  percentile: number | null;

  /** Token balance of the wallet, base units; null when no token is configured or the balance is unknown. */
  tokenBalance: string | null;

  /** Whether the wallet holds enough of the token; true when no token is configured; null when the balance is unknown. */
  eligible: boolean | null;

  /** Payments to the wallet that are not paid yet. */
  pendingPayments: { usdc: PendingAmount; reward: PendingAmount };
  linkedAccounts: ProfileLink[];
  beta: {
    /** Whether new points are beta points. */
    enabled: boolean;

    /** Beta points of the wallet that are not converted: earned minus converted. Negative when points were voided after their conversion. */
    points: Points;
  };
  games: {
    /** Games with an accepted score. */
    played: number;

    /** Accepted scores over all games. */
    scores: number;

    /** At most five games, highest best score first. */
    top: GameLine[];
  };

  /** Sanctions in force. `POST /me/appeals` answers one. */
  sanctions: Sanction[];
};

export type ProfileLink = { platform: string; handle: string; linkedAt: Instant };

export type ProjectedReward = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  wallet: string;

  /** Amount of the wallet if the day ended now. Base units. */
  amount: string;

  /** Points of the wallet today that earn rewards. */
  points: Points;
  breakdown: {
    /** Maximum sum of the amounts of the day. Base units. */
    pool: string;

    /** Maximum amount of one wallet, base units; null: no maximum. */
    cap: string | null;

    /** Minimum amount that is paid. Base units. */
    dust: string;

    /** Points of all wallets today. */
    totalPoints: number;

    /** Number of wallets with points today. */
    participants: number;

    /** Percentage of all points that the wallet has, four decimals. */
    shareOfPoints: number;

    /** Whether the cap limits the amount. */
    capped: boolean;

    /** Whether the amount is below dust, so it is not paid. */
    belowDust: boolean;

    /** Version of the allocation formula. */
    formulaVersion: number;
  };

  /** Time at which the points of the other wallets were counted; null before the first count. */
  asOf: Instant | null;
};

export type ProviderContradiction = {
  /** Type of transactions. */
  kind: string;

  /** The statements of both providers about a transaction. */
  reason: string;
  at: Instant;
};

export type PublicGameCaps = {
  /** Maximum points that a wallet can earn in this game per UTC day. */
  dailyPoints: number;

  /** Maximum duration of a play, ms. Longer plays are refused. */
  maxDurationMs: number;
};

export type Quest = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;
  gates: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId: Slug | null;
};

export type QuestCompleted = {
  questId: QuestId;
  wallet: string;
  window: string;
  pointsAwarded: number;
  factors: QuestFactors;
  completedAt: Instant;

  /** Name of the admin token. */
  by: string;
};

export type QuestCondition =
  | {
      type: 'plays';

      /** Required number of activities. */
      count: number;

      /** Counts this game only. Without gameId, every game that earns rewards counts. A game whose scores are not verified counts only when gameId names it. */
      gameId?: Slug;
    }
  | {
      type: 'scores';

      /** Required number of activities. */
      count: number;

      /** Counts this game only. Without gameId, every game that earns rewards counts. A game whose scores are not verified counts only when gameId names it. */
      gameId?: Slug;
    }
  | {
      type: 'bestScore';
      atLeast: number;

      /** Counts this game only. Without gameId, every game that earns rewards counts. A game whose scores are not verified counts only when gameId names it. */
      gameId?: Slug;
    }
  | {
      type: 'clips';

      /** Required number of activities. */
      count: number;
    }
  | { type: 'follow' }
  | {
      type: 'repost';

      /** Required number of activities. */
      count: number;
    }
  | {
      type: 'mention';

      /** Required number of activities. */
      count: number;
    }
  | {
      type: 'referrals';

      /** Required number of activities. */
      count: number;
    }
  | {
      type: 'burned';
      amount: string;

      /** Counts burns of this event only. Default: the quest’s burnEventId, if it has one. */
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
  gates: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId: Slug | null;
  active: boolean;
  createdAt: Instant;
  updatedAt: Instant;

  /** Completions in all windows, under the listed versions. */
  completions: number;
  pointsAwarded: number;

  /** The newest 100 versions, newest first. */
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
      gates?: QuestGates;

      /** Points before the multiplier. */
      points: number;

      /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
      window: { startsAt?: Instant; endsAt?: Instant };

      /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
      repeat: 'once' | 'daily' | 'weekly';
      active: boolean;

      /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
      task: boolean;

      /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
      burnEventId: Slug | null;
    };
  }[];
};

export type QuestEntry = {
  questId: QuestId;
  window: string;

  /** Negative when the entry revokes or voids a completion. */
  points: Points;

  /** revoke: an operator took the points of a completion back. void: scores were voided, so that the requirement is no longer met. restore: the requirement is met again. */
  reason: 'quest' | 'revoke' | 'void' | 'restore';

  /** Whether an entry with the reason revoke takes these points back. */
  revoked: boolean;

  /** Reason of the operator who took the points back; null for other entries. */
  note: string | null;
  mode: 'regular' | 'beta';
  timestamp: Instant;

  /** Null in an entry with the reason void or restore. */
  factors: QuestFactors | null;
};

/** points = floor(basePoints × multiplier). */
export type QuestFactors = {
  /** Version of the multiplier rule. */
  rule: number;
  questVersion: number;

  /** Points before the multiplier. */
  basePoints: number;

  /** Factor with at most two decimals. */
  multiplier: number;

  /** Consecutive UTC days with any activity. Each day after the first adds 5 %, up to 50 %. */
  streakDays: number;

  /** Whether the wallet has linked an external account, which adds 10 %. */
  linked: boolean;

  /** Whether the wallet held enough of the reward token, which adds 15 %; null: unknown, adds nothing. */
  holding: boolean | null;

  /** Time at which the token balance was read from the chain, at most 60 s before the points were given; null when `holding` is null, and in entries of earlier releases. */
  holdingAt: Instant | null;
};

export type QuestForOperators = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;
  gates: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId: Slug | null;
  active: boolean;
  createdAt: Instant;
  updatedAt: Instant;
};

/** Terms that a wallet must meet to complete the quest, besides the requirement. A completion that waits for a gate follows with the next activity of the wallet after it meets the gate. */
export type QuestGates = {
  /** The wallet holds at least this amount of the token. */
  minTokenBalance?: Prize;

  /** The wallet has at least this many accepted scores. */
  minAcceptedScores?: number;

  /** The wallet has linked an account of this network. */
  linkedAccount?: string;

  /** The wallet signed in for the first time before this time. */
  signedInBefore?: Instant;
};

export type QuestId = Slug;

export type QuestListed = {
  id: QuestId;
  version: number;
  title: string;
  description: string;
  category: Slug;
  requirement: QuestRequirement;
  gates: QuestGates;

  /** Points before the multiplier. */
  points: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat: 'once' | 'daily' | 'weekly';

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId: Slug | null;
  active: boolean;
  createdAt: Instant;
  updatedAt: Instant;

  /** scheduled: startsAt is in the future. inactive: active is false. */
  state: 'open' | 'scheduled' | 'ended' | 'inactive';

  /** Completions in all windows and both modes. */
  completions: number;

  /** Points of these completions, without revoked points. */
  pointsAwarded: number;
};

export type QuestMultiplier = {
  /** Factor with at most two decimals. */
  multiplier: number;

  /** Multiplier with all bonuses. Without a reward token, there is no bonus for holding. */
  max: number;
  factors: {
    streak: {
      /** Factor with at most two decimals. */
      bonus: number;

      /** Consecutive UTC days with any activity. Each day after the first adds 5 %, up to 50 %. */
      days: number;
    };
    linkedAccount: {
      /** Factor with at most two decimals. */
      bonus: number;

      /** Whether the wallet has linked an external account, which adds 10 %. */
      linked: boolean;
    };
    holding: {
      /** Factor with at most two decimals. */
      bonus: number;

      /** Whether the wallet held enough of the reward token, which adds 15 %; null: unknown, adds nothing. */
      holding: boolean | null;

      /** Time at which the token balance was read from the chain, at most 60 s before it was used; null when `holding` is null. */
      at: Instant | null;
    };
  };
};

export type QuestPatch = {
  title?: string;
  description?: string;
  category?: Slug;
  requirement?: QuestRequirement;
  gates?: QuestGates;

  /** Points before the multiplier. */
  points?: number;

  /** Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt. */
  window?: { startsAt?: Instant; endsAt?: Instant };

  /** How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week. */
  repeat?: 'once' | 'daily' | 'weekly';
  active?: boolean;

  /** Marks a daily task: the wallet completes it with a request when the requirement is met. */
  task?: boolean;

  /** The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count. */
  burnEventId?: Slug | null;
};

/** A condition, or `{ all: […] }` or `{ any: […] }`, nested up to 3 deep, of at most 20 conditions. */
export type QuestRequirement = QuestRequirement1;

export type QuestRequirement1 = QuestCondition | { all: QuestRequirement2[] } | { any: QuestRequirement2[] };

export type QuestRequirement2 = QuestCondition | { all: QuestRequirement3[] } | { any: QuestRequirement3[] };

export type QuestRequirement3 = QuestCondition | { all: QuestCondition[] } | { any: QuestCondition[] };

export type QuestStats = {
  /** Number of wallets on the board. */
  totalParticipants: number;

  /** Sum of all regular quest points, less points taken back. */
  totalPointsDistributed: Points;

  /** Best score on the board; null for an empty board. */
  topScore: number | null;

  /** Number of wallets on the board. */
  participantsToday: number;

  /** Sum of the points of the wallets on the board of the current UTC day. */
  pointsToday: Points;
};

/** Raw score as the game reports it. */
export type RawScore = number;

export type Readiness = {
  /** `ok` when every check is `ok`. */
  status: 'ok' | 'failed';
  checks: {
    /** PostgreSQL responds. */
    postgresql: 'ok' | 'failed';

    /** The database has every migration of this release. */
    migrations: 'ok' | 'failed';

    /** Redis responds. */
    redis: 'ok' | 'failed';
  };

  /** Server that answers reads that may be seconds old; only with `DATABASE_READ_URL`. It does not affect `status`. */
  reads?: 'primary' | 'standby';
};

export type Record = {
  recordId: Id;

  /** Number of the record in the chain of this wallet and game, from 1 on without gaps. */
  sequence: number;

  /** SHA-256(previousHash ‖ SHA-256(salt ‖ the record as canonical JSON, RFC 8785)), in hex. */
  hash: Hash;

  /** Hash of the previous record, in hex; all zeros for the first record. */
  previousHash: Hash;

  /** Random bytes of this record, in hex; null when the record is erased. */
  salt: Hash | null;
  recordedAt: Instant;

  /** SHA-256(salt ‖ the record as canonical JSON, RFC 8785), in hex. */
  contentHash: Hash;

  /** The record; null when it is erased. */
  record: { [key: string]: unknown } | null;
};

export type RecordReceipt = {
  recordId: Id;

  /** Number of the record in the chain of this wallet and game, from 1 on without gaps. */
  sequence: number;

  /** SHA-256(previousHash ‖ SHA-256(salt ‖ the record as canonical JSON, RFC 8785)), in hex. */
  hash: Hash;

  /** Hash of the previous record, in hex; all zeros for the first record. */
  previousHash: Hash;

  /** Random bytes of this record, in hex. Without them nobody can guess the record from its hash; keep them to prove the record. */
  salt: Hash;
  recordedAt: Instant;
};

export type ReferralBinding = {
  /** The caller. */
  wallet: Wallet;

  /** The wallet that referred the caller. */
  referrer: string;

  /** Eight digits and capital letters, without I, L, O and U. Input is accepted in any case, with O for 0 and I or L for 1. */
  code: string;
  boundAt: Instant;
};

export type ReferralLink = {
  /** Eight digits and capital letters, without I, L, O and U. Input is accepted in any case, with O for 0 and I or L for 1. */
  code: string;

  /** URL to share. */
  url: string;
  createdAt: Instant;
};

export type ReferralStats = {
  /** Newest first. */
  links: {
    /** Eight digits and capital letters, without I, L, O and U. Input is accepted in any case, with O for 0 and I or L for 1. */
    code: string;

    /** URL to share. */
    url: string;
    createdAt: Instant;

    /** Wallets bound by this code. */
    bindings: number;

    /** Number of these wallets that are verified. */
    verified: number;
  }[];
  conversion: {
    /** Bound wallets. */
    bound: number;

    /** A referred wallet is verified while it has an accepted score in a verified game. While it is verified, its scores give points to the referrer. */
    verified: number;

    /** Share of bound wallets that are verified, percent; null when no wallet is bound. */
    percent: number | null;
  };
  active: {
    /** Referred wallets that scored in the last 7 days. */
    last7Days: number;

    /** Referred wallets that scored in the last 30 days. */
    last30Days: number;
  };
  earnings: {
    /** Regular points earned by referrals, minus voided points. */
    points: number;

    /** Beta points earned by referrals, minus voided points. */
    betaPoints: number;

    /** The last 30 UTC days, oldest first, today last. */
    byDay: {
      day: Day;

      /** Regular points of the day, minus points voided on it. May be negative. */
      points: Points;
    }[];

    /** The ten wallets with the most points. */
    topWallets: {
      /** A referred wallet. */
      wallet: string;

      /** Regular points earned by the scores of this wallet. */
      points: number;
    }[];
  };

  /** The caller’s referral points of this UTC day and their cap. */
  today: {
    /** Maximum points that a referrer may earn by referrals per day, both modes together. */
    cap: number;

    /** Points earned today. A void does not reduce this number. */
    used: number;

    /** Remaining points of the cap. */
    left: number;

    /** Time at which the cap starts again: the next UTC midnight. */
    resetsAt: Instant;
  };
};

export type ReferralSummary = {
  /** Wallets that the caller referred. */
  referralCount: number;

  /** A referred wallet is verified while it has an accepted score in a verified game. While it is verified, its scores give points to the referrer. */
  verifiedReferrals: number;

  /** A referred wallet is active when it scored in the last 30 days, after its binding. A score that was voided before it was counted is ignored. */
  activeReferrals: number;

  /** Regular points earned by referrals, minus voided points. */
  pointsEarned: number;

  /** Beta points earned by referrals, minus voided points. */
  betaPointsEarned: number;
  referredBy: string | null;
};

export type ReferredWallet = {
  /** The referred wallet. */
  wallet: string;
  boundAt: Instant;

  /** Time from which the wallet’s scores give points to the caller; null before the wallet’s first score in a verified game, and after all these scores are voided. */
  verifiedAt: Instant | null;

  /** A referred wallet is active when it scored in the last 30 days, after its binding. A score that was voided before it was counted is ignored. */
  active: boolean;

  /** Regular points earned by the scores of this wallet. */
  points: number;
};

export type RefusedBurn = {
  /** Signature of the transaction. */
  signature: string;

  /** Position of the burn instruction in the transaction. */
  index: number;

  /** The event that the memo names; it may not exist. Null when no valid memo names an event. */
  burnEventId: Id | null;

  /** Mint of the burned token. */
  mint: string;

  /** Burned amount, base units. */
  amount: string;

  /** no-memo: no memo begins with `burn:`; several-memos: more than one does; invalid-memo: the memo is malformed or names an unknown source; unknown-event: the event does not exist; other-token: the event burns another token; not-started, ended: the block is from before or after the event; too-late: the service found the burn only after the totals of the event were final; not-owner: the owner of the tokens did not sign the burn. */
  reason: 'no-memo' | 'several-memos' | 'invalid-memo' | 'unknown-event' | 'other-token' | 'not-started' | 'ended' | 'too-late' | 'not-owner';

  /** Time of the block. */
  at: Instant;
};

export type ReleaseRequest = {
  /** Signatures of all transactions with the verdict unmatched. An acknowledged transaction no longer pauses payouts, and it completes no payment. */
  acknowledge?: string[];

  /** Numbers of the lanes to continue with the nonce that their account has now, although the transaction that used the nonce before it is unknown. Earlier transactions of these lanes are not read any more. */
  acceptLanes?: number[];
};

export type Replay = {
  scoreId: Id;
  playId: Id;
  wallet: Wallet;
  gameId: Slug;

  /** The raw score that the arcade recorded. */
  score: number;
  simulation: Simulation;

  /** 16 bytes, hex. */
  seed: string;

  /** The input log, base64. */
  log: string;
};

export type ReplayRefusal = {
  wallet: Wallet;
  gameId: Slug;

  /** UTC day, days since 1970-01-01. */
  day: number;
  count: number;

  /** Reason of the latest refusal. */
  reason: string;
};

export type ResolveRequest = {
  /** An address, a name that ends in .sol or .sns, or @handle. */
  identifier: string;
};

export type ResolvedWallet = {
  /** The identifier of the request. */
  identifier: string;
  wallet: Wallet;

  /** Kind of the identifier. */
  source: 'address' | 'sol' | 'sns' | 'handle';

  /** Whether the address can have a private key. False for the address of a program, which only this program can spend from. */
  onCurve: boolean;
};

export type RestoreRequest = { reason: string };

export type ResumeKindRequest = {
  /** Type of transactions. */
  kind: string;
};

export type ReviewRules = {
  /** Normalized score from which a score is held. null switches the rule off. */
  perfectFrom?: number | null;

  /** Number of equal raw scores of a wallet on the present and the last UTC day from which a score is held. Applies above the lowest normalized score, in a game with at least 1,000 possible raw scores. null switches the rule off. */
  repeatedScores?: number | null;

  /** Maximum seconds by which the plays of a wallet, in all games together, may be longer than the time that passed. null switches the rule off. */
  overlapSec?: number | null;

  /** Number of accepted scores in the game below which a wallet is a newcomer. A score of a newcomer is held if it would be in the top ten of a full top ten. Applies only if the game’s points count for rewards. null switches the rule off. */
  newcomerScores?: number | null;

  /** Maximum held scores of a wallet, in all games together. While a wallet has as many, a score that would be held is refused. */
  maxHeldPerWallet?: number;
};

export type ReviewRulesOutput = {
  /** Normalized score from which a score is held. null switches the rule off. */
  perfectFrom: number | null;

  /** Number of equal raw scores of a wallet on the present and the last UTC day from which a score is held. Applies above the lowest normalized score, in a game with at least 1,000 possible raw scores. null switches the rule off. */
  repeatedScores: number | null;

  /** Maximum seconds by which the plays of a wallet, in all games together, may be longer than the time that passed. null switches the rule off. */
  overlapSec: number | null;

  /** Number of accepted scores in the game below which a wallet is a newcomer. A score of a newcomer is held if it would be in the top ten of a full top ten. Applies only if the game’s points count for rewards. null switches the rule off. */
  newcomerScores: number | null;

  /** Maximum held scores of a wallet, in all games together. While a wallet has as many, a score that would be held is refused. */
  maxHeldPerWallet: number;
};

export type RevokeRequest = {
  /** Why the points are taken back. The list `/ledger/quests` shows this reason to the wallet. */
  reason: string;
};

export type RewardAllocation = {
  /** Number of the allocation, from 1. */
  allocation: number;

  /** Root of the Merkle tree, SHA-256 in hex; null when no wallet is paid. */
  root: string | null;

  /** Number of wallets with points that are not excluded. */
  wallets: number;

  /** Points of these wallets; null for an import. */
  points: number | null;

  /** Number of wallets that are paid. */
  leaves: number;

  /** Sum of all leaves, base units. */
  total: string;

  /** Part of the pool that is not distributed, base units. */
  undistributed: string;

  /** Time at which the allocation was computed. */
  computedAt: Instant;

  /** Reason why the allocation was computed. */
  reason: string;
};

export type RewardEpoch = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  date: Day;

  /** computing: the leaves are being computed. empty: no wallet is paid, so the epoch is not committed to the chain. computed: leaves and root are computed; until the root is signed, wallets can be excluded, and leaves and root are computed anew. committed: root and tokens are on the chain, rewards can be claimed. expired: rewards cannot be claimed any more. settled: unclaimed rewards are settled off-chain. */
  status: 'computing' | 'empty' | 'computed' | 'committed' | 'expired' | 'settled';

  /** computed: from points. import: from an imported distribution. */
  source: 'computed' | 'import';

  /** Root of the Merkle tree, SHA-256 in hex; null while there is none. */
  root: string | null;

  /** Sum of all leaves, base units. */
  total: string | null;

  /** Part of the pool that is not distributed, base units. */
  undistributed: string | null;

  /** Number of wallets that are paid. */
  leaves: number | null;

  /** Number of wallets with points that are not excluded; for an import, number of wallets in it. */
  wallets: number | null;

  /** Points of these wallets; null for an import. */
  points: number | null;

  /** SHA-256 of the file with the points of each wallet by source, in hex; null for an import, and until the file is stored. */
  pointsHash: string | null;

  /** Maximum sum of the amounts of the day. Base units. */
  pool: string;

  /** Maximum amount of one wallet, base units; null: no maximum. */
  cap: string | null;

  /** Minimum amount that is paid. Base units. */
  dust: string;

  /** Number of days for which rewards can be claimed after the root of the epoch is on the chain. */
  expiryDays: number;

  /** Version of the reward rules that the epoch uses; 0: the default rules. */
  rulesVersion: number;

  /** Version of the allocation formula. */
  formulaVersion: number;

  /** Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games; 0: no minimum. Wallets with fewer days are excluded. */
  minPlayDays: number;

  /** Minimum number of accepted scores that a wallet has when the epoch is computed; 0: no minimum. Wallets with fewer are excluded. */
  minAcceptedScores: number;

  /** Number of the allocation in force, from 1. Each change of the exclusions leads to a new allocation. */
  allocation: number;

  /** Whether the exclusions changed, and the next allocation is being computed. */
  allocationPending: boolean;

  /** Time before which the root is not signed; null while the epoch is computing, and for an epoch without a review. */
  reviewEndsAt: Instant | null;

  /** Time at which the allocation in force was computed; while it is computing, the time at which it was created. */
  timestamp: Instant;
  committedAt: Instant | null;

  /** Signature of the transaction that put the root on the chain. */
  commitSignature: string | null;

  /** Time until which the rewards of the epoch can be claimed; null before the root is on the chain. */
  expiresAt: Instant | null;
  settleRequestedAt: Instant | null;
  settledAt: Instant | null;

  /** Addresses of the epoch on the chain; null until the transaction with the root is finalized. */
  onChain: RewardEpochOnChain | null;
};

export type RewardEpochOnChain = {
  /** Address of the distributor program. */
  program: string;

  /** Key that opened the epoch; only this key can settle it. */
  authority: string;

  /** Mint of the reward token. */
  mint: string;

  /** Account of the epoch: root, total and claimed amount. */
  account: string;

  /** Token account that holds the unclaimed tokens. */
  vault: string;

  /** Sum of the finalized claims. Base units. */
  claimed: string;

  /** Number of finalized claims. */
  claims: number;
};

export type RewardExclusion = {
  wallet: string;

  /** operator: an operator excluded the wallet. ban: the wallet is banned. rule: the wallet does not meet the reward rules. */
  cause: 'operator' | 'ban' | 'rule';
  reason: string;

  /** Time at which the wallet was excluded. */
  at: Instant;
};

export type RewardExclusionsRequest = {
  /** Wallets with points in the epoch. */
  wallets: Wallet[];

  /** Reason that everybody can read. */
  reason: string;
};

export type RewardPoolToday = {
  /** UTC days since 1970-01-01. */
  epoch: number;

  /** Maximum sum of the amounts of the day. Base units. */
  pool: string;

  /** Maximum amount of one wallet, base units; null: no maximum. */
  cap: string | null;

  /** Minimum amount that is paid. Base units. */
  dust: string;

  /** Number of wallets with points today. */
  participants: number;

  /** Points of all wallets today. */
  points: number;

  /** Sum of all amounts if the day ended now. Base units. */
  total: string;

  /** Part of the pool that would not be distributed. Base units. */
  undistributed: string;

  /** Amounts of the best-paid 1, 5, 10, 25, 50, 75 and 100 percent of the wallets. Empty before the first points. */
  distribution: {
    /** Percentage of the wallets that the entry includes, best paid first. */
    top: number;
    wallets: number;

    /** Sum of the amounts of these wallets. Base units. */
    amount: string;

    /** Percentage of the pool that these wallets get, two decimals. */
    share: number;
  }[];
  endsAt: Instant;

  /** Time at which the points were counted. */
  timestamp: Instant;
};

export type RewardProof = {
  /** UTC days since 1970-01-01. */
  epoch: number;
  wallet: string;

  /** Index of the leaf in the tree. */
  index: number;

  /** Amount of the leaf, base units. */
  amount: string;

  /** Sibling hashes from the leaf to the root, SHA-256 in hex. */
  proof: string[];

  /** Root of the tree to which the proof leads, SHA-256 in hex. */
  root: string;
};

export type RewardRulesRequest = {
  /** Maximum sum of the amounts of one day, base units. */
  pool: string;

  /** Maximum amount of one wallet per day, base units; null: no maximum. */
  cap?: string | null;

  /** Minimum amount that a wallet is paid, base units. A wallet with a smaller amount is not paid. */
  dust?: string;

  /** Number of days for which rewards can be claimed after the root of the epoch is on the chain. */
  expiryDays?: number;

  /** Whether the service computes ended days automatically. If false, an ended day is computed only when an operator triggers or imports it. */
  automatic?: boolean;

  /** Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games. A wallet with fewer days is excluded from the epoch. 0: off. */
  minPlayDays?: number;

  /** Minimum number of accepted scores that a wallet has when the epoch is computed. A wallet with fewer scores is excluded from the epoch. 0: off. */
  minAcceptedScores?: number;
};

export type RewardRulesVersion = {
  /** Version of the rules; 0: the default rules. */
  version: number;

  /** Maximum sum of the amounts of one day. Base units. */
  pool: string;

  /** Maximum amount of one wallet per day, base units; null: no maximum. */
  cap: string | null;

  /** Minimum amount that is paid. Base units. */
  dust: string;

  /** Days for which an epoch can be claimed after its commit to the chain. */
  expiryDays: number;

  /** Whether the service computes ended days automatically. */
  automatic: boolean;

  /** Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games; 0: no minimum. Wallets with fewer days are excluded. */
  minPlayDays: number;

  /** Minimum number of accepted scores that a wallet has when the epoch is computed; 0: no minimum. Wallets with fewer are excluded. */
  minAcceptedScores: number;

  /** Time at which the version was stored; null for the default rules. */
  storedAt: Instant | null;
};

export type RewardsConfig = {
  /** Version of the rules; 0: the default rules. */
  version: number;

  /** Maximum sum of the amounts of one day. Base units. */
  pool: string;

  /** Maximum amount of one wallet per day, base units; null: no maximum. */
  cap: string | null;

  /** Minimum amount that is paid. Base units. */
  dust: string;

  /** Days for which an epoch can be claimed after its commit to the chain. */
  expiryDays: number;

  /** Whether the service computes ended days automatically. */
  automatic: boolean;

  /** Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games; 0: no minimum. Wallets with fewer days are excluded. */
  minPlayDays: number;

  /** Minimum number of accepted scores that a wallet has when the epoch is computed; 0: no minimum. Wallets with fewer are excluded. */
  minAcceptedScores: number;

  /** Hours between the computation of an epoch and the earliest signing of its root, in which operators can exclude wallets. */
  reviewHours: number;

  /** Mint of the reward token; null when none is configured. */
  mint: string | null;

  /** Version of the allocation formula. */
  formulaVersion: number;

  /** Formula that distributes the pool of a day. */
  distribution: { period: 'day'; share: string; cap: string; rounding: string; dust: string; exclusions: string };
};

/** All inputs and results of a draw. Later parts are null until the round reaches them. `bin/verify-round` needs this document, the entries, the chain, and the beacon’s public key. */
export type RoundAudit = {
  version: 2;
  round: string;
  void: 'no-entries' | null;
  parameters:
    | {
        kind: 'chat';
        picks: number;
        range: number;
        prizes: { place: number; amount: string; mint: Wallet }[];
        maxEntriesPerWallet: number;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      }
    | {
        kind: 'legacy';
        ticketPrice: string;
        mint: Wallet;
        maxTickets: number | null;
        maxTicketsPerWallet: number | null;
        version: 2;
        round: string;
        entryRules: {
          minTokenBalance: { amount: string; mint: Wallet } | null;
          minAcceptedScores: number | null;
          linkedAccount: string | null;
          signedInBefore: string | null;
        };
        opensAt: string;
        closesAt: string;
        leadSec: number;
        commitWithinSec: number;
        drawWithinSec: number;
        payWithinSec: number;
        draws: Wallet;
        treasury: Wallet;
        genesisHash: Wallet;
      };
  parametersHash: string;
  announcement: {
    statement: { type: 'coinop/announcement/1'; draws: Wallet; round: string; parametersHash: string; announcedAt: string };
    signature: string;
  };
  closed: {
    statement: {
      type: 'coinop/closed/1';
      draws: Wallet;
      round: string;
      parametersHash: string;
      closedAt: string;
      count: number;
      runningHash: string;
    };
    signature: string;
  };
  entries: { count: number; root: string | null; runningHash: string };
  commitment: { account: Wallet; beaconRound: number; slot: number; at: string; leaf: string; blockhash: Wallet | null } | null;
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
    | { place: number; index: number; wallet: Wallet; matches: number | null; tie: string | null; prize: { amount: string; mint: Wallet } }[]
    | null;
  entryHashes: string[];
};

export type RoundCommitment = {
  /** Address of the commitment account. A round has exactly one. */
  account: Wallet;

  /** Leaf of the round: the value that the account contains. */
  leaf: string;
  slot: number;

  /** Signature of the transaction that created the account; null when it is not known. */
  signature: string | null;

  /** The beacon round that decides the draw. */
  beaconRound: number;
  dueAt: Instant;
};

export type RoundEntry = {
  /** The entry’s id. */
  id: string;

  /** Position in the order of acceptance, starting at 0. */
  index: number;
  wallet: Wallet;

  /** The numbers in ascending order; empty for a ticket. */
  numbers: number[];

  /** The origin: `chat` (the service’s own chat), the name of a bridged chat, `chain` (a paid ticket) or `ticket` (a free ticket). */
  source: string;

  /** Id of the message at the origin. For a paid ticket, the signature of its transaction. */
  messageId: string;
  at: string;

  /** The entry’s leaf hash in the Merkle tree. */
  leaf: string;
};

export type RoundPayouts = {
  round: string;

  /** completed: the payments of all prizes are finalized. none: the round has no winner. */
  status: 'none' | 'pending' | 'completed';

  /** Signatures of the transactions that paid the prizes, by place. */
  signatures: string[];
  payouts: {
    /** The winner’s place; 1 is the first. */
    place: number;
    wallet: Wallet;
    prize: WonPrize;

    /** The amount of the prize in base units. */
    amount: string;

    /** Address of the mint of the prize. */
    mint: Wallet;
    paymentId: string;

    /** Status of the payment: pending, batched, confirmed, completed, … */
    status: string;

    /** Signature of the finalized transaction that pays the prize; null before, and when another service pays. */
    signature: string | null;

    /** Id of the batch that this transaction pays. */
    batch: string | null;
    completedAt: Instant | null;
  }[];

  /** All members of the named batches, also payments that are no prize of this round. The i-th member is the i-th token transfer of the transaction, whose memo `coinop:payout:<batch>:<hash>` contains the hash over the members. */
  batches: { id: string; members: PayoutMember[] }[];
};

export type RoundPost = {
  /** The post’s text. Its weight on X is at most 280; a link counts 23, an emoji or a CJK character 2. */
  text: string;
  media: {
    type: 'image/png';

    /** The round’s card: a PNG of 1200 × 630 pixels. */
    url: string;
    width: number;
    height: number;

    /** Description of the picture for screen readers. */
    alt: string;
  }[];

  /** The page of the round for people: of the front end, or of this service. */
  url: string;
};

export type Sanction = {
  /** ban: from the arcade. */
  type: 'ban' | 'chat-ban' | 'chat-mute';
  since: Instant;

  /** End of a mute; null without an end. */
  until: Instant | null;
  reason: string | null;
};

export type ScheduledTheme = {
  id: Id;
  startsAt: Instant;
  patch: { [key: string]: unknown };

  /** Name of the admin token. */
  by: string;

  /** Reason why the change could not be applied; null while it waits. */
  error: string | null;
};

export type ScheduledThemeRequest = {
  /** Time at which the change is applied; at once when in the past. */
  startsAt: Instant;
  patch: ThemePatch;
};

export type Score = {
  scoreId: Id;
  wallet: Wallet;
  gameId: Slug;
  status: ScoreStatus;
  score: RawScore;
  normalizedScore: number;

  /** Points that the score gives; 0 unless it is accepted, so 0 after a void. */
  pointsAwarded: number;

  /** Why `pointsAwarded` is 0; null when the score gives points. */
  noPointsReason: NoPointsReason | null;
  mode: 'regular' | 'beta';
  playId: Id | null;
  durationMs: number | null;
  submittedAt: Instant;
  decidedAt: Instant | null;

  /** Whether the score was the wallet’s best in the game when it was accepted. */
  personalBest: boolean;

  /** Why the score is held, rejected or voided; null for an accepted score. `POST /me/appeals` answers the decision. */
  reason: string | null;

  /** The battle that the score names; null without one. */
  battleId: Id | null;
};

export type ScoreAppeal = { appealId: Id; text: string; status: 'open' | 'granted' | 'refused'; at: Instant };

export type ScoreDetail = {
  scoreId: Id;
  wallet: Wallet;
  gameId: Slug;
  status: ScoreStatus;
  score: RawScore;
  normalizedScore: number;

  /** Points that the score gives; 0 unless it is accepted, so 0 after a void. */
  pointsAwarded: number;

  /** Why `pointsAwarded` is 0; null when the score gives points. */
  noPointsReason: NoPointsReason | null;
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

  /** Difference to the next better score on the board; null for the best wallet, and without a rank. */
  pointsToNext: number | null;
  neighbours: { rank: number; wallet: string; score: number }[];
};

export type ScoreReceipt = {
  scoreId: Id;
  status: ScoreStatus;
  normalizedScore: number;

  /** Points that the score gives; 0 unless it is accepted, so 0 after a void. */
  pointsAwarded: number;

  /** Why `pointsAwarded` is 0; null when the score gives points. */
  noPointsReason: NoPointsReason | null;

  /** Points that the daily caps still allow the wallet to earn on the current UTC day, after this score. */
  leftToday: {
    /** In this game. Never more than `all`. */
    game: number;

    /** In all games together. */
    all: number;
  };

  /** Whether the score was the wallet’s best in the game when it was recorded; false unless it is accepted. */
  personalBest: boolean;

  /** The wallet’s rank on the game’s all-time board, read after the commit. */
  rank: ScoreRank;
};

export type ScoreRequest = {
  gameId: Slug;

  /** Raw score, from min to max of the game’s normalization. */
  score: RawScore;

  /** Id of the play. Required unless the game’s verification is none. */
  playId?: Id;
  durationMs?: number;

  /** A running battle of this game that the caller joined. The score counts for the battle if it is accepted before the battle ends, including a held score that a moderator accepts by then. */
  battleId?: Id;

  /** Required if the game has a secret: hex HMAC-SHA256(secret, `v1:{playId}:{wallet}:{score}:{durationMs}`). */
  signature?: string;

  /** Required if the game’s verification is replay: the input log of the play, base64. docs/replays.md describes its format. */
  replay?: string;
};

export type ScoreStatus = 'accepted' | 'held' | 'rejected' | 'voided';

export type SettleRequest = {
  /** Epoch numbers: UTC days since 1970-01-01. */
  epochs: number[];

  /** Root of the epoch on the chain, hex. Only for one epoch: settles this root although the database has another root. The error 409 names the root. */
  root?: string;
};

export type Settlements = {
  epochs: {
    epoch: number;

    /** settling: the epoch can still change on the chain. */
    status: 'settled' | 'settling';
    settledAt: Instant | null;
  }[];
};

export type SharedPrize = {
  /** The amount in base units. */
  amount: string;
  mint: 'reward' | 'usdc';

  /** The amount as text for display. */
  text: string;
};

export type SharedRound = {
  id: string;
  kind: 'chat' | 'legacy';
  title: string;
  status: 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

  /** The round in one or two sentences. */
  text: string;

  /** Number of entries, or of tickets in a legacy round. */
  entries: number;
  opensAt: Instant | null;
  closesAt: Instant | null;
  endedAt: Instant | null;
  voidReason: 'no-entries' | null;

  /** The winning numbers in ascending order; null before the draw and in a legacy round. */
  numbers: number[] | null;

  /** Index of the winning ticket, starting at 0; null before the draw and in a chat round. */
  winningTicket: number | null;

  /** The sum of all prizes as text; null when there are none. */
  prize: string | null;

  /** The prizes by place: the first is for the first winner. */
  prizes: SharedPrize[];

  /** The first winners by place; empty before the draw. */
  winners: { place: number; wallet: Wallet; prize: SharedPrize }[];

  /** Number of wallets that won; null before the draw. */
  winnersTotal: number | null;
  verify: {
    /** Shell command that recomputes the round from public data. */
    command: string;

    /** Root of the Merkle tree over all entries; null before they are frozen. */
    entriesRoot: string | null;

    /** Seed of the draw; null before the draw. */
    seed: string | null;
  };
  links: {
    /** The page of the round for people: of the front end, or of this service. */
    page: string;

    /** This summary of the round. */
    summary: string;

    /** The round’s own endpoint. */
    round: string;

    /** The list of all entries. */
    entries: string;

    /** The audit, with which anyone can recompute the draw; available when the round is closed. */
    audit: string;

    /** The public keys and addresses for verification. */
    verify: string;

    /** The round’s card: a PNG of 1200 × 630 pixels. */
    card: string;

    /** The round as a post for X. */
    post: string;
  };

  /** Values for the Open Graph tags of a page about the round. */
  meta: {
    title: string;
    description: string;

    /** The round’s card: a PNG of 1200 × 630 pixels. */
    image: string;
    imageWidth: number;
    imageHeight: number;
    imageAlt: string;

    /** The page of the round for people: of the front end, or of this service. */
    url: string;
  };
};

/** Input of a wallet’s `solana:signIn`. */
export type SignInInput = {
  /** Host and port of the page that requests the sign-in. */
  domain: string;
  statement: string;
  uri: string;
  version: '1';
  chainId: string;
  nonce: string;
  issuedAt: Instant;
  expirationTime: Instant;
};

/** A nonce and its sign-in input, valid for one sign-in within five minutes. */
export type SignInNonce = { nonce: string; signInInput: SignInInput; expiresAt: Instant };

export type SignInProof = {
  publicKey: Wallet;

  /** The signed text, or the base64 of its UTF-8 bytes. */
  message?: string;

  /** Signature of the text: 64 bytes, base58 or base64. */
  signature?: string;

  /** For hardware wallets, replaces message and signature: base64 of a signed legacy or version 0 transaction that can never land. publicKey is the only signer and fee payer, the blockhash is sha256("coinop/sign-in" ‖ nonce), and the only instruction passes the text to the memo program (MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr) without accounts. */
  transaction?: string;

  /** cookie: sets the session cookie. bearer: answers a session token, for a page of another site. */
  transport?: 'cookie' | 'bearer';
};

export type SignedIn = {
  wallet: Wallet;

  /** Time at which the session ends if it is not used before. Each use extends the session. The session of a token is not extended. */
  expiresAt: Instant;

  /** Whether the wallet is banned. `sanctions` of the profile has the reason; `POST /me/appeals` answers it. */
  banned: boolean;

  /** The session token, a secret; only with `transport: "bearer"`. */
  token?: string;
};

export type SignedOut = { signedOut: true };

export type SigningKeys = {
  /** Address; null when no worker had the key. */
  program: string | null;

  /** Address; null when no worker had the key. */
  rewardMint: string | null;

  /** Address; null when no worker had the key. */
  usdcMint: string | null;

  /** Address; null when no worker had the key. */
  feePayer: string | null;

  /** Address; null when no worker had the key. */
  epochAuthority: string | null;

  /** Address; null when no worker had the key. */
  treasury: string | null;

  /** Address; null when no worker had the key. */
  committer: string | null;
};

export type Simulation = {
  hash: string;

  /** Path of the module at this service. */
  path: string;
  ticksPerSecond: number;
  maxTicks: number;
  instructionsPerTick: number;
};

export type SimulationReceipt = {
  hash: string;

  /** Path of the module at this service. */
  path: string;
  ticksPerSecond: number;
  maxTicks: number;
  instructionsPerTick: number;

  /** SHA-256 of the uploaded module. */
  sourceHash: string;

  /** Size of the module with metering, bytes. */
  bytes: number;
};

export type Slug = string;

/** A ticket that opens one WebSocket within 30 seconds. */
export type SocketTicket = { ticket: string; expiresAt: Instant };

export type SolPrice = {
  /** USD per SOL. */
  price: number;
};

export type TaskCompleted = { pointsAwarded: number; factors: QuestFactors; task: OwnQuest };

/** The requirement is met. The points follow, within an hour at the latest, and count for the day of the request. */
export type TaskPending = { status: 'pending'; task: OwnQuest };

export type Terms = {
  /** Current version; null when the service has no terms. */
  version: string | null;

  /** Page with the text of the terms; null when the service has no terms. */
  url: string | null;

  /** Time at which the caller accepted the current version; null when it did not. */
  acceptedAt: Instant | null;
};

export type TermsAcceptance = {
  /** Version of the terms. */
  version: string;
};

export type Theme = {
  theme: { [key: string]: unknown };

  /** Version of the theme; 0 before the first change. */
  version: number;
};

/** A JSON merge patch (RFC 7386): objects are merged, null removes a member, anything else replaces. */
export type ThemePatch = { [key: string]: unknown };

export type Ticket = {
  ticketId: Id;
  roundId: string;
  wallet: Wallet;

  /** checking: the service waits for the transaction. confirmed: the ticket is accepted. refused: the ticket is not accepted; its payment is refunded. */
  status: 'checking' | 'confirmed' | 'refused';

  /** Index among the tickets of the round, starting at 0; the draw selects this number. null when the ticket is not confirmed. */
  ticketNumber: number | null;

  /** The paying transaction; null for a free ticket. */
  transaction: {
    signature: string;

    /** pending: the transaction is not finalized yet. not-found: the RPC node does not know it. */
    status: 'pending' | 'finalized' | 'not-found';
  } | null;

  /** Signed proof that the ticket was accepted; null when the ticket is not confirmed. */
  receipt: EntryReceipt | null;

  /** Reason of the refusal; null when the ticket was not refused. */
  reason: string | null;

  /** Refunds of the ticket, one per currency. */
  refunds: TicketRefund[];
  requestedAt: Instant;
  decidedAt: Instant | null;
};

export type TicketRefund = {
  paymentId: Id;

  /** The amount in base units. */
  amount: string;
  currency: 'usdc' | 'reward';

  /** Status of the payment; `completed` is final. */
  status: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

  /** Signature of the refund’s transaction. */
  signature: string | null;
};

export type TicketRequest = {
  /** Signature of the transaction that pays for the ticket; omitted when tickets are free. */
  transaction?: string;
};

export type TriggerEpochRequest = {
  /** Epoch to compute: UTC days since 1970-01-01; by default the latest ended day. */
  epoch?: number;
};

export type UserStats = {
  wallet: Wallet;

  /** Time of the first sign-in. */
  memberSince: Instant;

  /** Regular points of all time. */
  points: Points;

  /** Competition rank on the global leaderboard; null without points. */
  rank: number | null;

  /** Percentage of the wallets on the global leaderboard that have the same or a worse rank; null without a rank. */
  percentile: number | null;

  /** Games with an accepted score. */
  gamesPlayed: number;

  /** Accepted scores over all games. */
  scores: number;

  /** Games with an accepted score, highest best score first. */
  games: GameLine[];
};

/** How scores are verified. none: not at all; play: by a play; heartbeat: by a play whose session sends a heartbeat every 5 s; replay: by running the inputs of the play again. */
export type Verification = 'none' | 'play' | 'heartbeat' | 'replay';

export type VoidRequest = { reason: string };

/** A Solana address: base58 of 32 bytes. */
export type Wallet = string;

export type WalletNote = {
  id: Id;
  text: string;

  /** Name of the admin token. */
  by: string;
  at: Instant;
};

export type WalletNoteRequest = { text: string };

export type WebhookDelivery = {
  /** The sender of the delivery. */
  source: 'payment-status' | 'chat-bridge' | 'x';

  /** The header `webhook-id`; for deliveries from X, the hex SHA-256 of the body. */
  id: string;

  /** received: the delivery is waiting or is being processed. worked: the delivery was processed. failed: processing failed and is not retried. */
  state: 'received' | 'worked' | 'failed';

  /** Result of the last attempt; null before the first attempt. */
  verdict: string | null;

  /** Attempts to process the delivery since its receipt or its last replay. */
  attempts: number;

  /** Size of the body, bytes. */
  bytes: number;
  receivedAt: Instant;
  replayedAt: Instant | null;
  settledAt: Instant | null;
};

export type WebhookDeliveryWithBody = {
  /** The sender of the delivery. */
  source: 'payment-status' | 'chat-bridge' | 'x';

  /** The header `webhook-id`; for deliveries from X, the hex SHA-256 of the body. */
  id: string;

  /** received: the delivery is waiting or is being processed. worked: the delivery was processed. failed: processing failed and is not retried. */
  state: 'received' | 'worked' | 'failed';

  /** Result of the last attempt; null before the first attempt. */
  verdict: string | null;

  /** Attempts to process the delivery since its receipt or its last replay. */
  attempts: number;

  /** Size of the body, bytes. */
  bytes: number;
  receivedAt: Instant;
  replayedAt: Instant | null;
  settledAt: Instant | null;

  /** The received body, unchanged. */
  body: string;
};

export type Winner = {
  /** The winner’s place; 1 is the first. */
  place: number;
  wallet: Wallet;
  prize: WonPrize;

  /** The entry’s id. */
  entryId: string;

  /** Position in the order of acceptance, starting at 0. */
  entryIndex: number;

  /** Number of the entry’s numbers that were drawn. */
  matches: number;
};

export type WinningNumbers = {
  round: string;

  /** The winning numbers in ascending order. */
  numbers: number[];
  proof: {
    seed: string;

    /** raw = u64 LE of HMAC-SHA256(seed, label ‖ counter u64 LE). */
    label: string;
    draws: DrawnInteger[];

    /** The numbers in drawn order: a Fisher–Yates shuffle over 1 to `range`. */
    drawn: number[];

    /** The inputs of the seed: SHA-256 over these values in this order, each preceded by its length in bytes as u32 LE; `round` has 16 bytes, hashes have 32 bytes, `beaconRound` is a u64 LE. */
    seedFrom: {
      label: 'coinop/draw/2';
      round: string;

      /** Leaf of the round, as its commitment contains it. */
      leaf: string;
      chainHash: string;
      beaconRound: number;
      randomness: string;
      blockhash: string;
    };
    beacon: {
      /** Public key of the drand chain, on G2. */
      publicKey: string;

      /** The beacon’s signature of the round, on G1; randomness = sha256(signature). */
      signature: string;
      dueAt: Instant;
    };
    commitment: {
      /** Address of the commitment account, which existed before the beacon round. */
      account: Wallet;
      slot: number;

      /** Time of the commitment by the chain’s clock. */
      at: Instant;
    };
  };
};

export type WonPrize = {
  /** The amount in base units. */
  amount: string;
  mint: 'reward' | 'usdc';

  /** Address of the mint. */
  address: Wallet;
};

export type XDelivery = {
  /** X Activity API: one event. */
  data?: unknown;

  /** Account Activity API: id of the subscribed user. */
  for_user_id?: unknown;

  /** Account Activity API: list of events. */
  follow_events?: unknown;

  /** Account Activity API: list of events. */
  tweet_create_events?: unknown;
} & { [key: string]: unknown };

export type __schema0 = string | number | boolean | null | __schema0[] | { [key: string]: __schema0 };

export type __schema1 = string | number | boolean | null | __schema1[] | { [key: string]: __schema1 };

/** Every endpoint by method and path: its input, its responses by status, and the statuses of its errors. */
export interface Endpoints {
  get: {
    /**
     * The page of the arcade, to which referral links lead.
     *
     * An HTML page for people. With the code of a referral link in `ref`, it shows the code, or says that the code is not valid. It needs no script. While the arcade page is on, the service serves that page here instead.
     */
    '/': {
      query?: {
        /** Referral code, in any case. */
        ref?: string;
      };
      responses: { 200: Response; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * The public keys and addresses for verifying rounds.
     *
     * A verifier should read them once, store them, and compare every later round with the stored copy. The draws account never changes.
     */
    '/.well-known/coinop-keys': { responses: { 200: Keys; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read which pages have Solana Actions.
     *
     * The rules of the specification of Solana Actions. The page of a round (`/share/round/{id}`) leads to the action that enters the round.
     */
    '/actions.json': { responses: { 200: ActionsFile; 304: null; 429: ActionError; 500: ActionError; 503: ActionError }; errors: never };

    /** Read the action that claims the reward of an epoch. */
    '/actions/claim/{epoch}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      responses: { 200: Action; 404: ActionError; 429: ActionError; 500: ActionError; 503: ActionError };
      errors: never;
    };

    /** The picture of the action that claims a reward. */
    '/actions/icon.svg': { responses: { 200: Response; 304: null; 429: ActionError; 500: ActionError; 503: ActionError }; errors: never };

    /** Read the action that buys a ticket of a legacy round. */
    '/actions/rounds/{id}/enter': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: Action; 404: ActionError; 429: ActionError; 500: ActionError; 503: ActionError };
      errors: never;
    };

    /**
     * List appeals.
     *
     * Open appeals oldest first; decided ones newest first. `GET /admin/scores` shows the appeal beside each score.
     */
    '/admin/appeals': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only appeals with this status. */
        status?: 'open' | 'granted' | 'refused';

        /** Only appeals of this wallet. */
        wallet?: Wallet;
      };
      responses: { 200: Appeal[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * List actions that wait for the approval of a second token, or were decided.
     *
     * Newest first.
     */
    '/admin/approvals': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Lists approvals in this state only. */
        state?: 'pending' | 'approved' | 'refused';
      };
      responses: { 200: Approval[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /** Read an approval. */
    '/admin/approvals/{id}': {
      params: {
        /** The id of the approval. */
        id: Id;
      };
      responses: { 200: Approval };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List requests with admin tokens, newest first.
     *
     * The service records every request with an admin token except GET requests, and does so before it runs the request. Each entry contains the hash of the previous entry, so a check of the hashes detects a changed or deleted entry. With `format=ndjson`, the response has all entries as a file.
     */
    '/admin/audit': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** ndjson: the whole log as a file, oldest entry first, one per line; `limit` and `offset` are ignored. */
        format?: 'json' | 'ndjson';

        /** With `format=ndjson`: number of the entry after which the file begins, to continue an earlier export. */
        after?: number;
      };
      responses: { 200: Response | AuditEntry[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /** Recorded keys, and why signing is stopped. */
    '/admin/chain': { responses: { 200: ChainRecord }; errors: 403 | 429 | 500 | 503 };

    /** List erasures, newest first. */
    '/admin/erasures': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Erasure[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * List one-time events, also scheduled and ended ones.
     *
     * Latest start first.
     */
    '/admin/events': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: ArcadeEvent[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /** Read a ledger entry. */
    '/admin/ledger/{id}': {
      params: {
        /** Id of a ledger entry. */
        id: string;
      };
      responses: { 200: LedgerEntry };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the notifications that operators sent.
     *
     * Newest first.
     */
    '/admin/notifications': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Notification[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * List payments by payer, status, currency and wallet, oldest first.
     *
     * The orchestrator reads its pending payments with ?payer=orchestrator&status=pending.
     */
    '/admin/payments': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only payments of this payer. */
        payer?: 'treasury' | 'orchestrator';

        /** Only payments with this status. */
        status?: 'pending' | 'batched' | 'confirmed' | 'completed' | 'failed' | 'reversed' | 'manual';

        /** Only payments in this currency. */
        currency?: 'usdc' | 'reward';

        /** Only payments to this wallet. */
        wallet?: Wallet;
      };
      responses: { 200: Payment[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /** Read a payment. */
    '/admin/payments/{id}': {
      params: {
        /** The id of the payment. */
        id: Id;
      };
      responses: { 200: Payment };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /** State of payouts: pauses, open payments by status, lanes, unmatched transactions. */
    '/admin/payouts': { responses: { 200: Payouts }; errors: 403 | 429 | 500 | 503 };

    /**
     * List all quests with their states and completions.
     *
     * Includes inactive, scheduled and ended quests, without deleted ones. Oldest first. A quest is scheduled when its `window.startsAt` is in the future.
     */
    '/admin/quests': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Lists quests in this state only. */
        state?: 'open' | 'scheduled' | 'ended' | 'inactive';
      };
      responses: { 200: QuestListed[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * Count refused replays by wallet, game and day.
     *
     * Scores that differed from their replays, and replays that broke a rule of their game. Latest day first.
     */
    '/admin/replays/refused': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only this wallet. */
        wallet?: Wallet;
      };
      responses: { 200: ReplayRefusal[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * List scores for moderators.
     *
     * Held scores, oldest first; or scores of another status, newest first. Accepted scores only of a wallet. `appeal` is what the wallet answers.
     */
    '/admin/scores': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only scores with this status. */
        status?: ScoreStatus;

        /** Only scores of this wallet. */
        wallet?: Wallet;

        /** Only scores in this game. */
        gameId?: Slug;

        /** Text that one of the reasons contains; capitals do not matter. */
        reason?: string;

        /** Only scores that were submitted before this time. */
        before?: Instant;
      };
      responses: { 200: ModeratedScore[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * List the scheduled changes of the theme.
     *
     * Next start first, with the changes that could not be applied.
     */
    '/admin/theme/schedule': { responses: { 200: ScheduledTheme[] }; errors: 403 | 429 | 500 | 503 };

    /** List chain transactions in the state manual or failed. */
    '/admin/transactions': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** manual: an operator must decide. failed: the chain refused the transaction. */
        state?: 'manual' | 'failed';
      };
      responses: { 200: ChainTransaction[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /**
     * Read everything about one player.
     *
     * Points by source, sanctions, linked accounts, and the newest rows of each list with the path of the whole list. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: Player };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the chat round entries of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/entries': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: PlayerEntry[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the ledger entries of a wallet.
     *
     * Newest first, both modes. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/ledger': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Lists entries of this source only. */
        source?: 'score' | 'ban' | 'quest' | 'conversion' | 'adjustment';
      };
      responses: { 200: LedgerEntry[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the notes of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/notes': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: WalletNote[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the payments of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/payments': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Payment[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the completed quests of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/quests': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: PlayerQuest[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the scores of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/scores': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: PlayerScore[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the legacy round tickets of a wallet.
     *
     * Newest first. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/tickets': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: PlayerTicket[] };
      errors: 400 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List webhook deliveries, newest first.
     *
     * `X-Total-Count` is at most 10,000. The service deletes settled deliveries 30 days after their receipt.
     */
    '/admin/webhooks': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** The sender of the delivery. */
        source?: 'payment-status' | 'chat-bridge' | 'x';

        /** received: the delivery is waiting or is being processed. worked: the delivery was processed. failed: processing failed and is not retried. */
        state?: 'received' | 'worked' | 'failed';
      };
      responses: { 200: WebhookDelivery[] };
      errors: 400 | 403 | 429 | 500 | 503;
    };

    /** Read a webhook delivery with its body. */
    '/admin/webhooks/{source}/{id}': {
      params: {
        /** The sender of the delivery. */
        source: 'payment-status' | 'chat-bridge' | 'x';

        /** The header `webhook-id`; for deliveries from X, the hex SHA-256 of the body. */
        id: string;
      };
      responses: { 200: WebhookDeliveryWithBody };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /** Read whether the caller plays in beta mode. */
    '/api/beta/preference': { responses: { 200: BetaPreference }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Read what the screen of a game shows, in one request.
     *
     * The game, its stats, the top of its board, the caller’s rank, the battles that can be joined or watched, and the active events.
     */
    '/api/lobby': {
      query: {
        /** The game’s id. */
        game: Slug;
      };
      responses: { 200: Lobby; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * Payments of the signed-in wallet.
     *
     * Lists prizes, refunds and other payments, newest first. Each payment has its status; a payment with the status confirmed or completed can have the signature of its transaction.
     */
    '/api/me/payments': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Payment[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * Read the price of SOL in USD.
     *
     * The price is at most 30 seconds old, or at most 10 minutes while its source fails. 503 when no price of the last 10 minutes is known.
     */
    '/api/price/sol': { responses: { 200: SolPrice; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read the caller’s profile.
     *
     * Points, rank, pending payments, linked accounts, games and sanctions. Waits at most 0.3 seconds for the RPC node. If the balance is not known by then, `tokenBalance` and `eligible` are null; `/eligibility` waits longer for them.
     */
    '/api/profile': { responses: { 200: Profile }; errors: 401 | 429 | 500 | 503 };

    /** Read the caller’s beta points. */
    '/api/profile/beta-points': { responses: { 200: BetaPoints }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Read the caller’s results in beta mode.
     *
     * No leaderboard includes beta points.
     */
    '/api/profile/beta-stats': { responses: { 200: BetaStats }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Read the caller’s referral link.
     *
     * Returns the newest link. Creates one when the caller has none.
     */
    '/api/referral/link': { responses: { 200: ReferralLink }; errors: 401 | 403 | 429 | 500 | 503 };

    /** List the wallets that the caller referred, newest first. */
    '/api/referral/referred': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: ReferredWallet[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * Read statistics of the caller’s links and referrals.
     *
     * Points count on the UTC day on which the referrer received them, normally within a second after the score.
     */
    '/api/referral/stats': { responses: { 200: ReferralStats }; errors: 401 | 403 | 429 | 500 | 503 };

    /** Read the totals of the caller’s referrals. */
    '/api/referral/summary': { responses: { 200: ReferralSummary }; errors: 401 | 403 | 429 | 500 | 503 };

    /** Read a claim. */
    '/api/rewards/claims/{id}': {
      params: {
        /** The id of the claim. */
        id: Id;
      };
      responses: { 200: Claim };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Read a reward epoch.
     *
     * Includes epochs that are being computed or imported.
     */
    '/api/rewards/epoch/{epoch}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      responses: { 200: RewardEpoch; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List the allocations of an epoch.
     *
     * The first allocation comes first; the last one is in force. `/api/rewards/epoch/{epoch}/leaves?allocation=1` has the leaves of the first one. The list is empty while the epoch is being computed.
     */
    '/api/rewards/epoch/{epoch}/allocations': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: RewardAllocation[]; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * List the wallets that are excluded from an epoch.
     *
     * Ordered by address. An excluded wallet has no leaf, and its points are not counted. A wallet that is excluded for several causes is listed once for each of them. Without `allocation`, the list also has the changes that the next allocation will include.
     */
    '/api/rewards/epoch/{epoch}/exclusions': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Number of the allocation, from 1; by default the allocation in force. */
        allocation?: number;
      };
      responses: { 200: RewardExclusion[]; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * Download the leaves of an epoch as NDJSON.
     *
     * The first line has the rules, the sums and the root of the epoch. Then follows one line `{ index, wallet, points, amount }` per wallet with points that is not excluded: first the leaves in tree order, then the unpaid wallets (index null, amount "0"). With this file every client can recompute the amounts and the root. The leaves of an allocation never change. Without `allocation`, the response has the allocation in force, which can be replaced until its root is signed; `/api/rewards/epoch/{epoch}/allocations` lists all allocations.
     */
    '/api/rewards/epoch/{epoch}/leaves': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      query?: {
        /** Number of the allocation, from 1; by default the allocation in force. */
        allocation?: number;
      };
      responses: { 200: Response; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * Download the points of an epoch by wallet and source as NDJSON.
     *
     * The first line has the type `coinop/points/1`, the epoch, the day, the rules, the number of wallets and the sum of their points. Then follows one line `{ wallet, points, sources }` per wallet with points, in ascending order of the addresses. `sources` has the points by source, in ascending order of the keys; their sum is `points`. A key is kind:reason, for scores kind:reason:gameId, for example `game:score:star-raiders`, `game:void:star-raiders`, `quest:quest` or `referral:referral`. The ETag is the SHA-256 of the file, which is `pointsHash` of the epoch and stands in a memo of the transaction that opens the epoch on the chain. The response never changes, so it can be cached without a limit. 404 for an import, which has no points.
     */
    '/api/rewards/epoch/{epoch}/points': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      responses: { 200: Response; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Merkle proof of a wallet’s reward of an epoch.
     *
     * leaf = SHA-256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE); node = SHA-256(min ‖ max); an odd node moves up unchanged. After the root of the epoch is on the chain, the response never changes, so it can be cached without a limit.
     */
    '/api/rewards/epoch/{epoch}/proof/{wallet}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;

        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: RewardProof; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /** List all reward epochs in the order of their numbers. */
    '/api/rewards/epochs': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Order by epoch number: asc = oldest first, desc = newest first. */
        order?: 'asc' | 'desc';
      };
      responses: { 200: RewardEpoch[] };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * List epochs whose root is on the chain.
     *
     * Lists the epochs in the order of their numbers. Excludes epochs that were settled off-chain; includes expired epochs.
     */
    '/api/rewards/epochs/committed': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Order by epoch number: asc = oldest first, desc = newest first. */
        order?: 'asc' | 'desc';
      };
      responses: { 200: RewardEpoch[] };
      errors: 400 | 429 | 500 | 503;
    };

    /** Today’s pool and its projected distribution. */
    '/api/rewards/pool/today': { responses: { 200: RewardPoolToday; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read a version of the reward rules.
     *
     * Each epoch names the version of its rules. A version never changes, so the response can be cached without a limit.
     */
    '/api/rewards/rules/{version}': {
      params: {
        /** The version of the rules; 0: the default rules. */
        version: string;
      };
      responses: { 200: RewardRulesVersion; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Unclaimed rewards of a wallet, of all epochs.
     *
     * Lists the rewards in the order of their epochs, each with the status claimable, upcoming (not on the chain yet) or settled (off-chain). Excludes claimed rewards and expired epochs.
     */
    '/api/rewards/wallet/{wallet}/claimable': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: ClaimableReward[] };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * Unclaimed rewards of a wallet, without epochs settled off-chain.
     *
     * Lists the rewards in the order of their epochs, each with the status claimable or upcoming. Excludes claimed rewards and expired epochs.
     */
    '/api/rewards/wallet/{wallet}/claimable-epochs': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: ClaimableReward[] };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /** Sum of a wallet’s USDC payments that are neither completed nor reversed. */
    '/api/rewards/wallet/{wallet}/pending-usdc': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: PendingStablecoin };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Projected reward of a wallet if the day ended now.
     *
     * Uses the formula of the final computation. The points of the wallet are current; the points of the other wallets were counted at the time asOf. The amount is 0 for a wallet that is banned or does not meet the conditions in the reward rules.
     */
    '/api/rewards/wallet/{wallet}/projected': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: ProjectedReward };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List the daily tasks with the caller’s progress.
     *
     * The caller can complete each task once per UTC day, with POST /api/tasks/daily/complete.
     */
    '/api/tasks/daily': { responses: { 200: OwnQuest[] }; errors: 401 | 403 | 429 | 500 | 503 };

    /** List the cabinets and the entities that control them. */
    '/arcade/cabinets': { responses: { 200: Cabinet[]; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read a score.
     *
     * Everybody may read an accepted score in regular mode, unless its wallet is banned. Only the wallet of the score may read any other score; other callers get 404.
     */
    '/arcade/score/{id}': {
      params: {
        /** The score’s id. */
        id: Id;
      };
      responses: { 200: Score };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Read the replay of a score.
     *
     * The seed, the input log and the simulation of the play, with which every client can compute the score again. Visible to the same callers as the score. 404 also for scores of games without replays, and for replays that are older than `REPLAY_DAYS` and not of a personal best.
     */
    '/arcade/score/{id}/replay': {
      params: {
        /** The score’s id. */
        id: Id;
      };
      responses: { 200: Replay };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Download a simulation.
     *
     * The WebAssembly module whose SHA-256 is `hash`. Clients play with this module, and the service runs replays with it.
     */
    '/arcade/simulation/{hash}': {
      params: {
        /** SHA-256 of the simulation, as `GET /config/games` lists it. */
        hash: string;
      };
      responses: { 200: Response; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /** Read the theme, the active events and the numbers of games and cabinets. */
    '/arcade/state': { responses: { 200: ArcadeState; 304: null }; errors: 429 | 500 | 503 };

    /** The status of the schedule of chat rounds. */
    '/auto/status': { responses: { 200: AutoStatus }; errors: 403 | 429 | 500 | 503 };

    /** List open and running battles, newest first. */
    '/battle/active': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only battles of this game. */
        gameId?: Slug;
      };
      responses: { 200: Battle[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * Read a battle.
     *
     * Lists the participants with the best normalized score of each that was accepted between start and end. A held score counts if it is accepted before the end. A score that is voided before the result does not count. A result never changes. The events `battle_created`, `battle_joined`, `battle_started`, `battle_result` and `battle_expired` announce each change.
     */
    '/battle/{id}': {
      params: {
        /** Id of the battle. */
        id: Id;
      };
      responses: { 200: Battle; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List the latest messages, newest first.
     *
     * For clients that join the chat. Later changes arrive as events `chat_message` and `chat_moderation`.
     */
    '/chat/messages': {
      query?: {
        /** Maximum number of messages. */
        limit?: number;

        /** Id of a message; only older messages are returned. */
        before?: Id;
      };
      responses: { 200: ChatMessages };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * The active chat round.
     *
     * The round that accepts entries, or null when no round is active.
     */
    '/chat/round/active': { responses: { 200: ChatRound | null; 304: null }; errors: 429 | 500 | 503 };

    /** List finalized chat rounds, newest first. */
    '/chat/round/recent-finalized': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: FinalizedRound[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /** A chat round. */
    '/chat/round/{id}': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: ChatRound; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The audit of a chat round.
     *
     * All inputs and results of the draw, for verification. Available when the entries are frozen and their tree is computed. Later parts (commitment, beacon, draw, winners) are null until they exist. The audit of a finalized or void round never changes.
     */
    '/chat/round/{id}/audit': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: RoundAudit; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The entries of a chat round.
     *
     * A page of the accepted entries, ordered by index; also available while the round is active. With `format=ndjson`, when the round is closed: all entries, one line of canonical JSON (RFC 8785) per entry, without `id` and `leaf`. The leaf hashes cover exactly these fields.
     */
    '/chat/round/{id}/entries': {
      params: {
        /** The round’s id. */
        id: string;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** ndjson: all entries as a file, one per line; `limit` and `offset` are ignored. Available when the round is closed. */
        format?: 'json' | 'ndjson';
      };
      responses: { 200: Response | RoundEntry[]; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /**
     * The Merkle root over all entries of a chat round.
     *
     * Available when the entries are frozen; it never changes. The commitment on the chain names this root.
     */
    '/chat/round/{id}/entries/root': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: EntriesRoot; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The Merkle proof of an entry.
     *
     * The leaf hash covers all fields of `entry` except `id`; `algorithm` of the root describes it. node = SHA-256(min ‖ max); an odd node moves up unchanged. The proof never changes.
     */
    '/chat/round/{id}/entries/{entryId}/proof': {
      params: {
        /** The round’s id. */
        id: string;

        /** The entry’s id. */
        entryId: string;
      };
      responses: { 200: EntryProof; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /** The payouts of a finalized chat round’s prizes. */
    '/chat/round/{id}/payouts': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: RoundPayouts; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The winners of a finalized round.
     *
     * Ordered by place. There may be fewer winners than prizes, because an entry without a drawn number wins nothing.
     */
    '/chat/round/{id}/winners': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: Winner[]; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /** The winning numbers of a finalized round, with their proof. */
    '/chat/round/{id}/winning-numbers': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: WinningNumbers; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List chat rounds, newest first.
     *
     * For example, `status=closing,committed` lists the rounds that are closed and not drawn yet.
     */
    '/chat/rounds': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Comma-separated states of the listed rounds; all states by default. */
        status?: string;
      };
      responses: { 200: ChatRound[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * The status of chat.
     *
     * Whether chat accepts messages, which round accepts entries, the number of recent messages, and the lag of the event stream. At most 1 s old.
     */
    '/chat/status': { responses: { 200: ChatStatus }; errors: 429 | 500 | 503 };

    /**
     * List clips, newest first.
     *
     * All clips, or the clips of a game, a wallet, or both.
     */
    '/clips': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only clips of this game. */
        gameId?: Slug;

        /** Only clips of this wallet. */
        wallet?: Wallet;
      };
      responses: { 200: Clip[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /** Read a clip. */
    '/clips/{id}': {
      params: {
        /** The id of the clip. */
        id: Id;
      };
      responses: { 200: Clip; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Download the file of a clip.
     *
     * Supports `Range` with one range, and `If-Range`. A request with several ranges gets the whole file. The file never changes and may be cached for a day. Follow redirects: files may have an origin of their own.
     */
    '/clips/{id}/media': {
      params: {
        /** The id of the clip. */
        id: Id;
      };
      responses: { 200: Response; 206: Response; 304: null; 307: null };
      errors: 404 | 416 | 429 | 500 | 503;
    };

    /** List the games of the arcade. */
    '/config/games': { responses: { 200: GameSummary[]; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read how scores are normalized and how points are capped.
     *
     * Scores of every game are normalized to 0–10000. Points are floor(normalized × pointsPer10000 / 10000), up to the daily caps of the game and of the wallet. linear: (score − min) / (max − min). log: ln(1 + score − min) / ln(1 + max − min). piecewise: linear interpolation between points. If lower is better, the formulas use the distance from max in place of the distance from min.
     */
    '/config/normalization': { responses: { 200: NormalizationConfig; 304: null }; errors: 429 | 500 | 503 };

    /** Reward rules in force. */
    '/config/rewards': { responses: { 200: RewardsConfig; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read the caller’s points in both modes.
     *
     * Regular and beta points by source, period and game.
     */
    '/debug/points': { responses: { 200: PointsBreakdown }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Read whether the caller holds enough of the token.
     *
     * The values that the token gate uses. The balance is at most 30 seconds old, or at most 10 minutes while the RPC node fails; `checkedAt` is the time at which it was read. 503 when the balance is unknown, or no token is configured.
     */
    '/eligibility': { responses: { 200: Eligibility }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Stream events.
     *
     * Server-Sent Events. Each message has `id`, `event` (its type) and `data`: JSON of `{ type, category, at, … }`. With a session, the stream includes the events for the caller’s wallet. Events of a category arrive in order. A client that reconnects with its last id receives the events that it missed. If the service no longer has them, the first message is `reset`, with links to the current state. Messages that contain only an `id` update the last id of a client that receives no events. The service closes a connection after at most about ten minutes; connect again. A stream with a session ends within a second after the session ends. A wallet may have 20 streams (429); when the streams of a process are used up, a new one gets a 503.
     *
     * - `notification` (system): A message to display, for all clients or for one wallet.
     * - `score_update` (gameplay): All-time boards of games changed, by a new best score, a decision, a void, a restored score or a ban. Sent at most 20 times a second, with the latest change of each wallet and game, at most 100. `score` and `rank` are null when the wallet left the board. Ranks are those after the change; overtaken wallets are not listed, so order the board by score. `more` lists the games with further changes: read their boards again.
     * - `score_recorded` (gameplay): A score was recorded: accepted or held. Has the fields of the response to `POST /arcade/score`. Sent once per score, only to the wallet that submitted it. `rank` is null while the ranks cannot be read.
     * - `score_held` (gameplay): A score is held for a moderator’s decision. Sent only to the wallet that submitted it.
     * - `score_decided` (gameplay): A held score was accepted or rejected, an accepted score was voided, or a voided score was restored. Sent only to the wallet that submitted it.
     * - `game_state` (gameplay): A wallet’s saved state of a game changed. Read the new state from `/game/{id}/state`. Sent only to this wallet.
     * - `arcade_event` (system): A one-time event of the arcade began, such as an animation or an announcement.
     * - `theme_changed` (system): The theme of the arcade changed.
     * - `cabinet_possessed` (system): An entity took control of a cabinet.
     * - `cabinet_released` (system): A cabinet returned to normal operation.
     * - `chat_message` (chat): A chat message of a wallet or of a bridged chat. `entryId` is set when the message made an entry.
     * - `chat_moderation` (chat): A message was deleted, or an author was muted, unmuted, banned or unbanned.
     * - `new_entry` (gameplay): An entry of a round was accepted. A ticket of a legacy round has no numbers.
     * - `round_started` (round): A round has opened for entries. Its parameters never change; the announcement is signed.
     * - `round_closed` (round): A round has closed for entries. Its entries are public; a commitment to them follows. `closed` is the signed statement about them.
     * - `round_committed` (round): The commitment to a round’s entries is finalized on the chain. The named beacon round decides the draw.
     * - `round_finalized` (round): A round was drawn. A legacy round has `winningTicket` (an index) instead of numbers.
     * - `round_void` (round): A round ended without entries, so it is not drawn.
     * - `winner_announced` (round): A wallet won a prize. The payout follows automatically.
     * - `ticket_confirmed` (round): A ticket was accepted. Sent to its wallet only.
     * - `ticket_refused` (round): A ticket was refused; its payment is refunded. Sent to its wallet only.
     * - `quest_published` (gameplay): A quest or a daily task can be completed from now on: it was created or activated, or its window began. `GET /quests` lists it with its requirement.
     * - `quest_changed` (gameplay): A listed quest has a new version. Read it again from `GET /quests`.
     * - `quest_withdrawn` (gameplay): A quest can no longer be completed: it was deleted or deactivated, or its window or burn event ended. Earned points stay.
     * - `quest_completed` (gameplay): The wallet completed a quest or a daily task and received points. Sent to this wallet only.
     * - `battle_created` (gameplay): A battle was opened. Its creator has seat 1; other wallets can join until it starts or expires.
     * - `battle_joined` (gameplay): A wallet took a seat in a battle. After the last seat, `battle_started` follows.
     * - `battle_expired` (gameplay): A battle expired, because it did not start within an hour.
     * - `battle_started` (gameplay): A battle began. Scores that name it count until it ends.
     * - `battle_result` (gameplay): A battle ended. Results are sorted by score, best first. Equal scores share a place. Without scores there are no winners.
     * - `referral_bound` (gameplay): A wallet was bound to its referrer. Sent only to these two wallets.
     * - `referral_earned` (gameplay): Scores of referred wallets gave points to their referrer, normally within a second after the scores. `wallets` has the part of each referred wallet. Points are negative when scores were voided. Sent only to the referrer.
     * - `burn_event_activated` (system): A burn event started. Burns with its memo count until it ends.
     * - `burn_event_ended` (system): A burn event ended. Burns from before its end may still be recorded.
     * - `burn_recorded` (system): A finalized burn counts for an event. `source` is null when the source in its memo was not valid for the wallet.
     * - `epoch_computed` (rewards): The leaves of an epoch are computed, or computed anew after its exclusions changed. When its review is over, an epoch with leaves is committed to the chain; an epoch without leaves has the status empty.
     * - `epoch_committed` (rewards): The transaction with the root and the tokens of an epoch is finalized. The rewards can be claimed until the epoch expires.
     * - `epoch_settled` (rewards): The unclaimed rewards of an epoch are settled off-chain and cannot be claimed any more.
     * - `claim_submitted` (rewards): The transaction of a claim is being sent. The event is sent only to the wallet of the claim.
     * - `claim_confirmed` (rewards): A transaction that claims a reward is confirmed, or finalized if `final` is true. Any wallet can have sent the transaction.
     * - `claim_failed` (rewards): A claim failed; the wallet can request the claim again. The event is sent only to the wallet of the claim.
     * - `payout_confirmed` (rewards): The transaction of a payment is finalized. The event is sent only to the wallet of the payment.
     * - `payout_failed` (rewards): A payment failed. The amount stays owed until an operator decides about the payment. The event is sent only to the wallet of the payment.
     */
    '/events': {
      query?: {
        /** Comma-separated categories: gameplay, chat, round, rewards, system; all of them by default. */
        categories?: string;

        /** Id of the last received message, for clients that cannot send the header Last-Event-ID. The header has precedence. */
        lastEventId?: string;
      };
      responses: { 200: Response };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * List the active and ended burn events.
     *
     * Newest first.
     */
    '/events/burn': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: BurnEvent[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * Read the active burn event.
     *
     * Returns null when no event is active.
     */
    '/events/burn/active': { responses: { 200: BurnEvent | null; 304: null }; errors: 429 | 500 | 503 };

    /** Read a burn event. */
    '/events/burn/{id}': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      responses: { 200: BurnEvent; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List the wallets of a burn event by total burns.
     *
     * Highest amount first. Wallets with equal amounts share a rank and are listed by address, descending. Also available after the event has ended.
     */
    '/events/burn/{id}/leaderboard': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Centres the page on the caller and ignores offset. A caller that is not listed gets the first page. */
        around?: 'me';
      };
      responses: { 200: BurnStanding[]; 304: null };
      errors: 400 | 401 | 404 | 429 | 500 | 503;
    };

    /**
     * List the wallets of a burn event by burns from the source game.
     *
     * Highest amount first. Wallets with equal amounts share a rank and are listed by address, descending. Also available after the event has ended.
     */
    '/events/burn/{id}/leaderboard/game': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Centres the page on the caller and ignores offset. A caller that is not listed gets the first page. */
        around?: 'me';
      };
      responses: { 200: BurnStanding[]; 304: null };
      errors: 400 | 401 | 404 | 429 | 500 | 503;
    };

    /**
     * List the wallets of a burn event by burns from the source referral.
     *
     * Highest amount first. Wallets with equal amounts share a rank and are listed by address, descending. Also available after the event has ended.
     */
    '/events/burn/{id}/leaderboard/referrals': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Centres the page on the caller and ignores offset. A caller that is not listed gets the first page. */
        around?: 'me';
      };
      responses: { 200: BurnStanding[]; 304: null };
      errors: 400 | 401 | 404 | 429 | 500 | 503;
    };

    /**
     * List the wallets of a burn event by burns from the source social.
     *
     * Highest amount first. Wallets with equal amounts share a rank and are listed by address, descending. Also available after the event has ended.
     */
    '/events/burn/{id}/leaderboard/social': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Centres the page on the caller and ignores offset. A caller that is not listed gets the first page. */
        around?: 'me';
      };
      responses: { 200: BurnStanding[]; 304: null };
      errors: 400 | 401 | 404 | 429 | 500 | 503;
    };

    /**
     * List the quests of a burn event.
     *
     * Lists only quests that can be completed now.
     */
    '/events/burn/{id}/quests': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Quest[]; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /** Read the caller’s rank in a burn event. */
    '/events/burn/{id}/rank': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      responses: { 200: BurnRank };
      errors: 401 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * Read the referral leaderboard.
     *
     * The score is the sum of the points that a wallet received for scores of the wallets that it referred. Best first. Wallets with the same score share a rank and are sorted by address, descending.
     */
    '/game/referral/leaderboard': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller and ignores offset. Near the ends of the board, the page is filled with more lines on the other side. A caller without a rank gets the top of the board. */
        around?: 'me';
      };
      responses: { 200: Leaderboard; 304: null };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * Read the rank of the caller or another wallet on the referral leaderboard.
     *
     * The score is the sum of the points that the wallet received for scores of the wallets that it referred.
     */
    '/game/referral/rank': {
      query?: {
        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** The wallet whose rank is read; the caller by default. */
        wallet?: Wallet;
      };
      responses: { 200: BoardRank };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * Read a game’s leaderboard.
     *
     * The score is each wallet’s best normalized score in the period, 0 to 10,000. Best first. Wallets with the same score share a rank and are sorted by address, descending.
     */
    '/game/{id}/leaderboard': {
      params: {
        /** The game’s id. */
        id: GameRef;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller and ignores offset. Near the ends of the board, the page is filled with more lines on the other side. A caller without a rank gets the top of the board. */
        around?: 'me';
      };
      responses: { 200: Leaderboard; 304: null };
      errors: 400 | 401 | 404 | 429 | 500 | 503;
    };

    /** Read the rank of the caller or another wallet on a game’s leaderboard. */
    '/game/{id}/rank': {
      params: {
        /** The game’s id. */
        id: GameRef;
      };
      query?: {
        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** The wallet whose rank is read; the caller by default. */
        wallet?: Wallet;
      };
      responses: { 200: BoardRank };
      errors: 400 | 401 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * List the caller’s records of a game, newest first.
     *
     * At most 20 records per page. The salt and the content of an erased record are null; its hashes remain.
     */
    '/game/{id}/records': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Record[] };
      errors: 400 | 401 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * Read the caller’s saved state of a game.
     *
     * The ETag is the version of the saved state. A request with this ETag in If-None-Match gets 304. Before the first save, state is null and version is 0.
     */
    '/game/{id}/state': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      responses: { 200: GameState; 304: null };
      errors: 401 | 403 | 404 | 429 | 500 | 503;
    };

    /**
     * Read the stats of a game.
     *
     * All values count regular mode only, and are of one moment, at most two seconds ago. A void takes its score out of the scores, the average and the best; its play and its player still count.
     */
    '/game/{id}/stats': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      responses: { 200: GameStats };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Returns whether the process is running.
     *
     * Checks no dependency.
     */
    '/healthz': { responses: { 200: { status: 'ok' } }; errors: 500 | 503 };

    /**
     * Answer the challenge of X for this webhook.
     *
     * Challenge-response check: returns the base64 HMAC-SHA256 of the token under the newest secret. The same key signs deliveries, so only tokens that cannot be a delivery are signed. 503 when no secret is configured.
     */
    '/integrations/x/events': {
      query: {
        /** Token that X wants signed. */
        crc_token: string;
      };
      responses: { 200: CrcAnswer };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * Read the global leaderboard.
     *
     * The score is the sum of all regular points from games, quests and referrals. Best first. Wallets with the same score share a rank and are sorted by address, descending.
     */
    '/leaderboard/global': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller and ignores offset. Near the ends of the board, the page is filled with more lines on the other side. A caller without a rank gets the top of the board. */
        around?: 'me';
      };
      responses: { 200: Leaderboard; 304: null };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /** Read the stats of one period of the global leaderboard. */
    '/leaderboard/global/period-stats': {
      query?: {
        /** The period, in UTC; a week begins on Monday. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;
      };
      responses: { 200: PeriodStats; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /** Read the rank of the caller or another wallet on the global leaderboard. */
    '/leaderboard/global/rank': {
      query?: {
        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** The wallet whose rank is read; the caller by default. */
        wallet?: Wallet;
      };
      responses: { 200: BoardRank };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /** Read the stats of the global leaderboard. */
    '/leaderboard/global/stats': { responses: { 200: GlobalStats; 304: null }; errors: 429 | 500 | 503 };

    /**
     * Read the quest leaderboard.
     *
     * The score is the sum of a wallet’s quest points. Best first. Wallets with the same score share a rank and are sorted by address, descending.
     */
    '/leaderboard/quests': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** Centres the page on the caller and ignores offset. Near the ends of the board, the page is filled with more lines on the other side. A caller without a rank gets the top of the board. */
        around?: 'me';
      };
      responses: { 200: Leaderboard; 304: null };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * Read the rank of the caller or another wallet on the quest leaderboard.
     *
     * The score is the sum of the wallet’s quest points.
     */
    '/leaderboard/quests/rank': {
      query?: {
        /** Period of the board, in UTC; a week begins on Monday. All time by default. */
        period?: Period;

        /** A UTC day in the selected period; the current day by default. Ended periods keep their final ranks. */
        at?: Day;

        /** The wallet whose rank is read; the caller by default. */
        wallet?: Wallet;
      };
      responses: { 200: BoardRank };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /** Read the stats of the quest leaderboard. */
    '/leaderboard/quests/stats': { responses: { 200: QuestStats; 304: null }; errors: 429 | 500 | 503 };

    /**
     * List the caller’s points from quests.
     *
     * Newest first, both modes. Each entry contains the factors of its computation.
     */
    '/ledger/quests': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: QuestEntry[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * The page to which X redirects after the sign-in.
     *
     * An HTML page for people. With a session, it links the account, as `POST /auth/social/link/verify` does. Without one, it shows `code` and `state`, so that the person can enter them in the application that has the session. A front end at `FRONTEND_URL` has its own page at this path.
     */
    '/link/x': {
      query?: {
        /** Code that X returned. */
        code?: string;

        /** State from `start`, as X returned it. */
        state?: string;

        /** Reason why X returned no code, for example that the person refused. */
        error?: string;
      };
      responses: { 200: Response };
      errors: 400 | 403 | 409 | 429 | 500 | 503;
    };

    /**
     * Read the caller’s wallet, token balance and session.
     *
     * Waits at most 0.3 seconds for the RPC node. If the balance is not known by then, `tokenBalance` and `eligible` are null; `/eligibility` waits longer for them.
     */
    '/me': { responses: { 200: Me }; errors: 401 | 429 | 500 | 503 };

    /** List the caller’s appeals, newest first. */
    '/me/appeals': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: OwnAppeal[] };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * List the battles in which the caller has a seat, newest first.
     *
     * Lists battles of every status.
     */
    '/me/battles': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Battle[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * List the caller’s burns that are not credited, with the reasons.
     *
     * Newest first. Contains the burns of the reward token from the start of a burn event until a day after the end of the last one. A burn is listed when its transaction is finalized.
     */
    '/me/burns/refused': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: RefusedBurn[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * List the caller’s chat messages, newest first.
     *
     * Also messages whose text was deleted, with the reason, and messages of linked accounts in bridged chats.
     */
    '/me/chat/messages': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: OwnChatMessage[] };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * List the claims of the caller’s rewards, newest first.
     *
     * Includes claims that another service submitted for the caller. `/api/rewards/wallet/{wallet}/claimable` lists the unclaimed rewards.
     */
    '/me/claims': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: Claim[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * List the caller’s clips, newest first.
     *
     * Also removed clips, with the reason, and the hidden clips of a banned wallet.
     */
    '/me/clips': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: OwnClip[] };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * List the caller’s chat entries and tickets, newest first.
     *
     * Entries of chat rounds, and tickets of legacy rounds with every status.
     */
    '/me/entries': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: OwnEntry[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /** The caller’s self-exclusion. */
    '/me/exclusion': { responses: { 200: Exclusion }; errors: 401 | 429 | 500 | 503 };

    /**
     * Download everything that is stored about the caller, as NDJSON.
     *
     * One line `{ table, row }` per row. Secrets, hashes of requests and names of operators are left out. At most 3 times an hour.
     */
    '/me/export': { responses: { 200: Response }; errors: 401 | 429 | 500 | 503 };

    /** Read the name with which lists show the caller. */
    '/me/name': { responses: { 200: OwnName }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * Read the multiplier of the caller’s quest points, with its factors.
     *
     * The multiplier is 1 plus the bonuses. Points are rounded down. The multiplier applies to quest points only. The token balance was read from the chain at most 60 s ago; `holding` is null when the RPC node does not answer within 5 s.
     */
    '/me/quest-multiplier': { responses: { 200: QuestMultiplier }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * List the open quests with the caller’s progress.
     *
     * Progress includes all activities up to this request. A quest whose requirement is met is completed within a few seconds after the activity, the change or the start of the quest that met it. While the chain cannot be read, a completion waits for the token balance for up to an hour. Days are UTC.
     */
    '/me/quests': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Returns quests of this category only. */
        category?: Slug;
      };
      responses: { 200: OwnQuest[] };
      errors: 400 | 401 | 403 | 429 | 500 | 503;
    };

    /**
     * List the caller’s scores, newest first.
     *
     * Lists scores of every status and of both modes.
     */
    '/me/scores': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Only scores of this game. */
        gameId?: Slug;
      };
      responses: { 200: Score[] };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /**
     * List the caller’s sessions.
     *
     * Newest first. Sessions that have ended or expired are not listed.
     */
    '/me/sessions': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;
      };
      responses: { 200: OwnSession[] };
      errors: 400 | 401 | 429 | 500 | 503;
    };

    /** The current terms of paid rounds, and whether the caller accepted them. */
    '/me/terms': { responses: { 200: Terms }; errors: 401 | 403 | 429 | 500 | 503 };

    /**
     * List the quests that can be completed at present.
     *
     * Includes daily tasks. Oldest first.
     */
    '/quests': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Returns quests of this category only. */
        category?: Slug;
      };
      responses: { 200: Quest[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /** Read a quest with its versions and completions. */
    '/quests/{id}': {
      params: {
        /** Id of the quest. */
        id: Slug;
      };
      responses: { 200: QuestDetail };
      errors: 403 | 404 | 429 | 500 | 503;
    };

    /**
     * Returns whether the process can handle requests.
     *
     * Responds within about one second even when a dependency hangs. 503 means that at least one check failed.
     */
    '/readyz': { responses: { 200: Readiness; 503: Readiness }; errors: 500 };

    /**
     * A legacy round.
     *
     * @deprecated Kept for existing clients.
     */
    '/round/{id}': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: LegacyRound; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The audit of a legacy round.
     *
     * All inputs and results of the draw, for verification. Available when the entries are frozen and their tree is computed. Later parts (commitment, beacon, draw, winners) are null until they exist. The audit of a finalized or void round never changes.
     */
    '/round/{id}/audit': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: RoundAudit; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The tickets of a legacy round.
     *
     * A page of the accepted entries, ordered by index; also available while the round is active. With `format=ndjson`, when the round is closed: all entries, one line of canonical JSON (RFC 8785) per entry, without `id` and `leaf`. The leaf hashes cover exactly these fields.
     */
    '/round/{id}/entries': {
      params: {
        /** The round’s id. */
        id: string;
      };
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** ndjson: all entries as a file, one per line; `limit` and `offset` are ignored. Available when the round is closed. */
        format?: 'json' | 'ndjson';
      };
      responses: { 200: Response | RoundEntry[]; 304: null };
      errors: 400 | 404 | 429 | 500 | 503;
    };

    /** The payout of a finalized legacy round’s prize. */
    '/round/{id}/payouts': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: RoundPayouts; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /** A ticket and its status. */
    '/round/{id}/tickets/{ticketId}': {
      params: {
        /** The round’s id. */
        id: string;

        /** The ticket’s id. */
        ticketId: Id;
      };
      responses: { 200: Ticket };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * List legacy rounds, newest first.
     *
     * For example, `status=active` lists the rounds that sell tickets, and `status=closing,committed` those that are closed and not drawn yet.
     */
    '/rounds': {
      query?: {
        /** Maximum number of rows. */
        limit?: number;

        /** Number of rows to skip. */
        offset?: number;

        /** Comma-separated states of the listed rounds; all states by default. */
        status?: string;
      };
      responses: { 200: LegacyRound[]; 304: null };
      errors: 400 | 429 | 500 | 503;
    };

    /**
     * The page of a round, to which posts lead.
     *
     * An HTML page for people, with Open Graph tags for link previews. It is HTML for every client, because many programs that make previews send no `Accept` header. It needs no script.
     */
    '/share/round/{id}': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: Response; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The latest chat round’s summary for sharing.
     *
     * The chat round that closed last, drawn or not drawn yet; before the first one closes, the active one. Void rounds are excluded, and legacy rounds, because any wallet can open one.
     */
    '/social/latest': { responses: { 200: SharedRound; 304: null }; errors: 404 | 429 | 500 | 503 };

    /**
     * A round’s summary for sharing.
     *
     * A round of either kind and in any state: one or two sentences, prizes and winners, links, and the values of Open Graph tags. A client that prefers `text/html` in `Accept` gets the page of `/share/round/{id}` instead, and its errors as pages; every other client gets JSON.
     */
    '/social/round/{id}': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: SharedRound; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * The card of a round.
     *
     * A PNG of 1200 × 630 pixels for sharing. The card of a finalized or void round never changes; any other card is at most 15 seconds old.
     */
    '/social/round/{id}/card.png': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: Response; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * A round as a post.
     *
     * A text within the limits of X, including the link, and the picture to attach. A long title is shortened.
     */
    '/social/round/{id}/post': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: RoundPost; 304: null };
      errors: 404 | 429 | 500 | 503;
    };

    /**
     * Read the public stats of a wallet.
     *
     * Regular points only. 404 when the wallet never signed in.
     */
    '/users/{wallet}/stats': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: UserStats; 304: null };
      errors: 404 | 429 | 500 | 503;
    };
  };
  post: {
    /**
     * Build the transaction that claims the reward of an epoch.
     *
     * Returns an unsigned transaction. The account signs and sends it, and pays its fee. The transaction opens the account’s token account if there is none; the account pays that rent too. The service finds the claim on the chain, as any other claim. 404: the epoch does not exist or has no reward for the account. 409: the reward is claimed, or the epoch is not committed, settled or expired. At most 20 requests per minute and account.
     */
    '/actions/claim/{epoch}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      body: ActionRequest;
      responses: {
        200: ActionTransaction;
        400: ActionError;
        404: ActionError;
        409: ActionError;
        413: ActionError;
        415: ActionError;
        429: ActionError;
        500: ActionError;
        503: ActionError;
      };
      errors: never;
    };

    /**
     * Build the transaction that buys a ticket of a legacy round.
     *
     * Returns an unsigned transaction that pays the price of a ticket to the treasury. The account signs and sends it, and pays its fee. No session is needed: the service finds the payment on the chain and records the ticket within seconds. A payment that is late, or that arrives when all tickets are taken, is refunded. 403: the account does not meet the entry rules, is banned, or may not buy tickets; the message begins with the rule. 409: the round sells no ticket, or the account does not hold the price. At most 20 requests per minute and account.
     */
    '/actions/rounds/{id}/enter': {
      params: {
        /** The round’s id. */
        id: string;
      };
      body: ActionRequest;
      responses: {
        200: ActionTransaction;
        400: ActionError;
        403: ActionError;
        404: ActionError;
        409: ActionError;
        413: ActionError;
        415: ActionError;
        429: ActionError;
        500: ActionError;
        503: ActionError;
      };
      errors: never;
    };

    /**
     * Answer an appeal.
     *
     * Stores the answer for the wallet. The decision itself changes only by its own endpoint, such as `POST /admin/scores/{id}/restore` or `POST /admin/wallets/{wallet}/unban`. A repeated request changes nothing. 409: the appeal was decided otherwise.
     */
    '/admin/appeals/{id}/decision': {
      params: {
        /** The id of the appeal. */
        id: Id;
      };
      body: AppealDecision;
      responses: { 200: Appeal };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Approve an action that another token requested.
     *
     * Carries the action out, once. A repeated approval changes nothing. 403: the token requested the action itself. 409: the action was refused, was requested more than 72 hours ago, or cannot be carried out any more.
     */
    '/admin/approvals/{id}/approve': {
      params: {
        /** The id of the approval. */
        id: Id;
      };
      responses: { 200: Approval };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Refuse an action that waits for an approval.
     *
     * The token that requested the action may refuse it too. A repeated refusal changes nothing. 409: the action was approved.
     */
    '/admin/approvals/{id}/refuse': {
      params: {
        /** The id of the approval. */
        id: Id;
      };
      responses: { 200: Approval };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * End a burn event before its time.
     *
     * Burns in blocks before the end still count when they are finalized later. 409: the event is not active.
     */
    '/admin/burn/{id}/end': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      responses: { 200: BurnEvent };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Give a character or entity control of a cabinet.
     *
     * 409 if any entity possesses the cabinet already.
     */
    '/admin/cabinet/possess': { body: PossessRequest; responses: { 200: Cabinet }; errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Return a cabinet to normal operation.
     *
     * 409 if no entity possesses the cabinet.
     */
    '/admin/cabinet/release': {
      body: CabinetReleaseRequest;
      responses: { 200: Cabinet };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Accept the keys of the workers after a restore.
     *
     * When the database was restored and the workers have other keys or mints than it records, nothing is signed. This request records the new ones, so that signing continues. Use it only when nothing was signed with a third set of keys since the backup. The request must name all keys that differ, otherwise it fails with 409. Without a stop it changes nothing.
     */
    '/admin/chain/accept-keys': { body: AcceptKeysRequest; responses: { 200: ChainRecord }; errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Resume a transaction kind after the RPC providers contradicted each other.
     *
     * Use it after the provider that was wrong was replaced. Transactions whose result the providers still state differently stay open, and pause the kind again. A kind that is not paused stays unchanged.
     */
    '/admin/chain/resume': { body: ResumeKindRequest; responses: { 200: ChainRecord }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Delete a chat message, or mute or ban an author.
     *
     * delete empties the message’s text. mute refuses new messages and entries for the given minutes, starting now; ban refuses them permanently. Accepted entries stay. Idempotent, except that a repeated mute starts again.
     */
    '/admin/chat/moderate': {
      body: ChatModerationRequest;
      responses: { 200: ChatModeration };
      errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Erase content on a lawful request.
     *
     * Erases the content and logs the erasure. Hash chains of records and entries can still be verified, because they cover only hashes. Erasing again does no harm. 404: there is no such content.
     */
    '/admin/erasures': {
      body: ErasureRequest;
      idempotent: true;
      responses: { 201: Erasure };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Start or schedule a one-time event, such as an animation or an announcement.
     *
     * Broadcasts the event once, as `arcade_event`, when it begins: at once, or at `startsAt`. The `activeEvents` of `/arcade/state` list it from then until it ends.
     */
    '/admin/event': {
      body: ArcadeEventRequest;
      idempotent: true;
      responses: { 201: ArcadeEvent };
      errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Take back the points of a ledger entry.
     *
     * Appends an entry with the opposite points on the current day, once per entry; both entries name each other. A revoked completion of a quest stays, with 0 points. For a conversion of beta points, both of its entries are compensated, and the beta points can be converted again. 409: the entry is revoked already, it is itself a compensation, or its points come from a score: void the score instead.
     */
    '/admin/ledger/{id}/revoke': {
      params: {
        /** Id of a ledger entry. */
        id: string;
      };
      body: RevokeRequest;
      idempotent: true;
      responses: { 201: LedgerEntry };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Send a notification to everybody or to one wallet.
     *
     * Sends the event `notification` to the open streams. 404: the wallet has never signed in.
     */
    '/admin/notifications': {
      body: NotificationRequest;
      idempotent: true;
      responses: { 201: Notification };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Create a payment to a wallet.
     *
     * Creates at most one payment per reference. A repeated request returns the existing payment; it fails with 409 when its wallet, currency or amount differs from the existing payment.
     */
    '/admin/payments': {
      body: OweRequest;
      idempotent: true;
      responses: { 200: Payment; 201: Payment };
      errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Complete a payment in the state manual that an operator paid by hand.
     *
     * The transaction must be finalized. It must have paid the wallet at least the amount of this payment plus the amounts of all other payments that have the same signature.
     */
    '/admin/payments/{id}/resolve': {
      params: {
        /** The id of the payment. */
        id: Id;
      };
      body: PaymentResolution;
      responses: { 200: Payment };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /** Retry a payment in the state manual or failed. */
    '/admin/payments/{id}/retry': {
      params: {
        /** The id of the payment. */
        id: Id;
      };
      responses: { 200: Payment };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Pause payouts.
     *
     * No further batch is signed. Transactions that were sent before are followed until they are finalized or expired.
     */
    '/admin/payouts/pause': { body: HoldRequest; responses: { 200: Payouts }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Resume payouts.
     *
     * Removes the pause that an operator set. The request must acknowledge all unmatched transactions. If the next reconciliation finds another difference, it pauses payouts again.
     */
    '/admin/payouts/resume': { body?: ReleaseRequest; responses: { 200: Payouts }; errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Complete a quest for a wallet.
     *
     * Completes the quest without checking its requirement and its gates, even when it is not active. The multiplier applies. 503: the token balance of the wallet cannot be read from the chain at the moment. 404: there is no such quest, or the wallet has never signed in. 409: completed in this window already, or the wallet is banned. `POST /admin/ledger/{id}/revoke` takes the points back. Above the amount in APPROVALS, which counts the points that the token gave on the same day, and the highest multiplier of the quest, the response is 202 with an approval, and a second token must approve it.
     */
    '/admin/quests/{id}/complete': {
      params: {
        /** Id of the quest. */
        id: Slug;
      };
      body: CompleteQuest;
      idempotent: true;
      responses: { 200: QuestCompleted; 202: Approval };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Exclude wallets from an epoch.
     *
     * The allocation is computed anew without these wallets; their shares go to the other wallets by the formula. The root is not signed before that. The reason is public. Wallets that an operator excluded before keep their reason. Fails with 409 when the transaction with the root was signed, and for an epoch that was imported, is being computed or settled.
     */
    '/admin/rewards/epoch/{epoch}/exclusions': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      body: RewardExclusionsRequest;
      responses: { 202: RewardEpoch };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * End the review of an epoch now.
     *
     * The root is signed as soon as the allocation includes all exclusions. Idempotent while the root is not signed. Fails with 409 when the transaction with the root was signed, and for an epoch that was imported, is being computed or settled.
     */
    '/admin/rewards/epoch/{epoch}/release': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;
      };
      responses: { 200: RewardEpoch };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Accept, reject or void many scores.
     *
     * Decides at most 500 scores: the given ones, or the oldest ones that match the filter. Accepted scores count on the day of the decision, within the caps of that day. Scores that are decided already are skipped, so the same request can be sent again.
     */
    '/admin/scores/decisions': { body: DecisionsRequest; responses: { 200: Decisions }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Accept or reject a held score.
     *
     * An accepted score counts on the day of the decision, within the caps of that day.
     */
    '/admin/scores/{id}/decision': {
      params: {
        /** The score’s id. */
        id: Id;
      };
      body: DecisionRequest;
      responses: { 200: ScoreDetail };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Undo the void of a score.
     *
     * The score counts again on the boards, and a ledger row of the current day gives its points back, within the points that the wallet’s other scores left of the caps of the score’s day. A score can be restored once: 409 if it was restored before. 409 also if the score is not voided, or if the wallet is banned.
     */
    '/admin/scores/{id}/restore': {
      params: {
        /** The score’s id. */
        id: Id;
      };
      body: RestoreRequest;
      responses: { 200: ScoreDetail };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Void an accepted score.
     *
     * A ledger row of the current day takes the points of the score back. If the score is of the current day, the points no longer count in the daily caps. The wallet’s best scores are recomputed from its remaining scores.
     */
    '/admin/scores/{id}/void': {
      params: {
        /** The score’s id. */
        id: Id;
      };
      body: VoidRequest;
      responses: { 200: ScoreDetail };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Change the theme of the arcade.
     *
     * Applies the body to the current theme as a JSON merge patch (RFC 7386). The merged theme is at most 64 KB. The service keeps every version. The ETag is the version. With If-Match, the request changes only the named version. A patch that changes nothing keeps the version.
     */
    '/admin/theme': { body?: ThemePatch; responses: { 200: Theme }; errors: 400 | 403 | 412 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Schedule a change of the theme.
     *
     * Within about a second of `startsAt`, the patch is applied to the theme as it is then, as a JSON merge patch (RFC 7386). 409: 100 changes are scheduled already.
     */
    '/admin/theme/schedule': {
      body: ScheduledThemeRequest;
      idempotent: true;
      responses: { 201: ScheduledTheme };
      errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Retry a chain transaction in the state manual.
     *
     * Use this request after the cause of the failure is removed. If the cause remains, the transaction returns to the state manual. The request fails with 409 when an earlier attempt may have landed; the error says what information is missing to decide that.
     */
    '/admin/transactions/{id}/retry': {
      params: {
        /** The id of the transaction. */
        id: Id;
      };
      responses: { 200: ChainTransaction };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Ban a wallet.
     *
     * Ends the wallet’s sessions. The wallet can sign in again only to read its own data, to appeal and to delete its account. It can read the reason. The wallet is on no board, also of ended periods, and in no epoch that is not committed, and its scores do not count in running battles. Its referrer loses the points that it got from the scores of the wallet. A job rejects the held scores. Entries that were made stay. The end of the ban undoes all this.
     */
    '/admin/wallets/{wallet}/ban': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      body: BanRequest;
      responses: { 200: Ban };
      errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Write a note about a wallet.
     *
     * Only operators can read notes. 404: the wallet has never signed in.
     */
    '/admin/wallets/{wallet}/notes': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      body: WalletNoteRequest;
      idempotent: true;
      responses: { 201: WalletNote };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Give points to a wallet or take points from it.
     *
     * Appends a ledger entry of the source adjustment. The points count on the global board, for all time and for the current periods. With `rewards: true`, the epoch of the current day counts them as well. A wallet whose total is not above 0 is on no board. 404: the wallet has never signed in. 409: a banned wallet can only lose points. Above the amount in APPROVALS, which counts the points that the token gave on the same day, the response is 202 with an approval, and a second token must approve it.
     */
    '/admin/wallets/{wallet}/points': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      body: AdjustmentRequest;
      idempotent: true;
      responses: { 201: LedgerEntry; 202: Approval };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Lift a ban.
     *
     * Undoes all that the ban changed: the wallet is on the boards again with all its points, the scores that the ban rejected are held again, and its referrer gets the points back.
     */
    '/admin/wallets/{wallet}/unban': {
      params: {
        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 200: Ban };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Replay a webhook delivery.
     *
     * Processes a failed or processed delivery again. Processing is idempotent, so an effect that happened before does not happen again. 409 while the delivery is waiting or is being processed.
     */
    '/admin/webhooks/{source}/{id}/replay': {
      params: {
        /** The sender of the delivery. */
        source: 'payment-status' | 'chat-bridge' | 'x';

        /** The header `webhook-id`; for deliveries from X, the hex SHA-256 of the body. */
        id: string;
      };
      responses: { 202: WebhookDelivery };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Convert a wallet’s beta points into regular points.
     *
     * Converts all beta points that are not converted yet. The result is rounded down. It counts on all-time boards only, not for a period or an epoch. When the result is 0 points, nothing changes and `id` is null. Above the amount in APPROVALS, which counts the points that the token gave on the same day, the response is 202 with an approval, and a second token must approve it.
     */
    '/api/beta/convert': {
      body: ConversionRequest;
      idempotent: true;
      responses: { 200: ConversionResult; 202: Approval };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Turn beta mode on or off.
     *
     * Toggles the preference, or sets it to `enabled`. New points are then beta points or regular points. Public boards, ranks and epochs count regular points only. A held score keeps the mode of its submission.
     */
    '/api/beta/preference': {
      body?: BetaPreferenceRequest;
      idempotent: true;
      responses: { 200: BetaPreference };
      errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Bind the caller to its referrer.
     *
     * A binding is permanent: a second one is refused with 409, with any code. The referrer must not be the caller (400), a wallet that the caller referred directly or indirectly (409), or a banned wallet (409). The referrer gets 10 % of the points of each of the caller’s scores, rounded down, within a daily cap. The first score that counts is the caller’s first score in a verified game.
     */
    '/api/referral/bind': {
      body: BindRequest;
      idempotent: true;
      responses: { 201: ReferralBinding };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Create a new referral link.
     *
     * The new link becomes the caller’s link. The codes of older links stay valid. At most 20 links per wallet.
     */
    '/api/referral/link': { idempotent: true; responses: { 201: ReferralLink }; errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Claim an epoch’s reward.
     *
     * The service sends the transaction and pays the fees; the tokens go only to the wallet in the leaf. The request waits up to 20 s for the chain (`Prefer: wait=5` shortens this wait to 5 s). After that it returns 202, and the event `claim_confirmed` or `claim_failed` reports the outcome. A repeated request returns the same claim; a failed claim is retried. Fails with 409 when the reward is claimed already (the error names the transaction), settled off-chain, not committed, expired (relaying ends 10 minutes before the expiry), or when the wallet must open a token account first. Fails with 429 and `Retry-After` when the wallet has too many claims in flight, or when the claim failed on the chain several times.
     */
    '/api/rewards/claim': {
      body: ClaimRequest;
      idempotent: true;
      responses: { 200: ClaimReceipt; 202: ClaimReceipt };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Import an epoch that was computed elsewhere.
     *
     * Needs an internal token, or an admin token with the scope money. The body is JSON of at most 256 KB, or NDJSON (plain or with Content-Encoding gzip) of at most 1,000,000 rows and 256 MB after decompression. NDJSON: the first line is `{ "epoch": 20777, "root": "…" }`, then one line `{ "wallet": "…", "amount": "…" }` per leaf. The leaves have the order of the rows. Their total must be at most the pool of the rules in force, and each amount at most the cap; an operator can confirm more with `overLimits`. Banned wallets, programs and their accounts are refused as wallets. Above the amount in APPROVALS the response is 202 with an approval, and the import starts when a second token approves it. If a row is invalid, the whole import is refused; the error names the first ten invalid rows. The request waits up to 15 s for the tree (`Prefer: wait=5` shortens this wait to 5 s); after that it returns 202. A repeated import returns 200. Fails with 409 when the epoch was computed from points, or imported with other rows. An imported epoch is committed like a computed one.
     */
    '/api/rewards/epoch/import': {
      body: ImportEpochRequest | Bytes;
      responses: { 200: RewardEpoch; 201: RewardEpoch; 202: RewardEpoch | Approval };
      errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Settle epochs off-chain.
     *
     * Unclaimed rewards of a settled epoch cannot be claimed any more. The service reads the chain: an epoch on the chain is first settled there. An epoch that was never committed is settled when no transaction that was signed before the request can commit it any more (about 75 s), and is never committed. The response is 202 until then. Fails with 409 while an epoch is open on the chain with another root than in the database; with `root`, the request settles this root. If one of the epochs does not exist, no epoch is settled. Idempotent.
     */
    '/api/rewards/settled-offchain': {
      body: SettleRequest;
      responses: { 200: Settlements; 202: Settlements };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Complete a daily task.
     *
     * taskId is the id of a daily task. 202: the token balance of the wallet, which decides about a bonus, cannot be read from the chain at the moment; the points follow as soon as it is known, without the bonus after an hour, and count for today. 400: the requirement or a gate is not met; the error says what is missing. 409: completed today already.
     */
    '/api/tasks/daily/complete': {
      body: CompleteTask;
      idempotent: true;
      responses: { 200: TaskCompleted; 202: TaskPending };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Find the wallet of an address, a name or a handle.
     *
     * Names are read from finalized accounts; a result is at most 15 seconds old. A name that is wrapped in a token resolves to the holder of the token. Any other name resolves to the wallet in its valid SOL record, or to the owner of the name when it has no valid SOL record. `.sns` names are names of the Solana Name Service. `.sol` names moved from the Solana Name Service to the Solana Record Service, so both services must resolve a `.sol` name to the same wallet.
     *
     * 404 with the reason when the identifier has no wallet that tokens can be sent to: the name or handle does not exist; the name has expired; a program, such as a market, holds the name; the records of the name contradict each other.
     */
    '/api/wallet/resolve': { body: ResolveRequest; responses: { 200: ResolvedWallet }; errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Submit a score.
     *
     * A worker validates the score: the game exists, the score is in range, the play is the caller’s own, live, unused and long enough, its session is unbroken and the signature is valid. A doubtful score is held for a moderator. It gets 0 points and is on no board until it is accepted. A wallet with too many held scores gets 409 for a score that would be held, until a moderator decides. The response is sent after the commit. After a 503, send the same score again; it never counts twice. `battleId` must be a running battle of this game that the caller joined: 404 if it does not exist, 400 if it is of another game, 403 if the caller did not join it, 409 if it is not running. A repeated request for a recorded score gets its receipt even after the battle. The same play (or Idempotency-Key) with the same body gets the stored result, and with another body 409. The scores of a wallet in games without verification are limited per minute and per day (429).
     */
    '/arcade/score': {
      body: ScoreRequest;
      idempotent: true;
      responses: { 200: ScoreReceipt };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Sign out.
     *
     * Ends the session in all processes, with its event streams and WebSockets, and clears its cookie.
     */
    '/auth/logout': { responses: { 200: SignedOut }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Create a nonce and the text to sign.
     *
     * The service decides the text. The domain in the text is the domain of the Origin header, or the domain of the service when the request has no Origin header.
     */
    '/auth/nonce': { responses: { 200: SignInNonce }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Start linking an account of the social network.
     *
     * Two methods: sign in to the network (`oauth`: OAuth 2.0 with PKCE), or post a text (`challenge`). The same wallet must finish at `/auth/social/link/verify` within ten minutes. The five newest attempts of a wallet are valid. 503 when the method is not configured.
     */
    '/auth/social/link/start': { body?: LinkStartRequest; responses: { 200: LinkStart }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Finish linking an account.
     *
     * Takes the `code` and `state` from the network’s redirect, or the post that begins with the challenge. An account belongs to one wallet, and a wallet has one account; a link that breaks this rule gets 409. A state or challenge that was used already also gives 409. Earlier engagements of the account (follow, reposts, mentions) are credited to the wallet. The service stores no token of the network.
     */
    '/auth/social/link/verify': { body: LinkVerifyRequest; responses: { 200: Link }; errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Create a ticket that opens one WebSocket.
     *
     * A page cannot send `Authorization` with a WebSocket. It adds `ticket=` and the ticket to the query of the URL of the WebSocket. The ticket serves once, within 30 seconds, and for a session that is bound to an origin only from this origin. The WebSocket ends with the session.
     */
    '/auth/ticket': { responses: { 201: SocketTicket }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Sign in with a signed text or transaction.
     *
     * Sets the session cookie, and ends the session of the request’s cookie, if any. With `transport: "bearer"`, answers a session token instead: for a page of another site, where browsers block cookies. The token is sent as `Authorization: Bearer …`, also to `GET /events`; a WebSocket takes a ticket (`POST /auth/ticket`). It ends after 24 hours, and counts only for requests with the `Origin` of this request, if it has one. A request with a Bearer token is a request without a cookie. The session of a banned wallet only serves to read its own data, to appeal and to delete its account; every other route answers 403. A wallet has at most 100 sessions: a further sign-in ends the oldest one.
     */
    '/auth/verify': { body: SignInProof; responses: { 200: SignedIn }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Start the schedule of chat rounds.
     *
     * The first round starts at `startAt`, or now if it is missing; another round starts after each interval. Only one round is active at a time: the next one waits. When several start times pass meanwhile, or while the service is down, only one round is started for them. When the schedule already runs, interval and template are replaced; without `startAt` the next round keeps its start time, or gets an earlier one if the new interval is shorter. A round that could not start, for example because the treasury does not hold its prizes, is retried with the current template.
     */
    '/auto/start': { body: AutoStart; responses: { 200: AutoStatus }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Stop the schedule of chat rounds.
     *
     * No further round is started. A started round continues. Idempotent.
     */
    '/auto/stop': { responses: { 200: AutoStatus }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Open a battle.
     *
     * The creator takes the first seat. The battle starts when all seats are taken, or when its creator starts it. It expires if it does not start within an hour. A wallet can have at most 5 open or running battles that it created.
     */
    '/battle/create': {
      body: BattleTerms;
      idempotent: true;
      responses: { 201: Battle };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Take a seat in a battle.
     *
     * Taking the last seat starts the battle. A wallet that has a seat already gets the battle unchanged. A wallet cannot give its seat back. 409 if the battle is full or not open.
     */
    '/battle/{id}/join': {
      params: {
        /** Id of the battle. */
        id: Id;
      };
      responses: { 200: Battle };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Start a battle before all seats are taken.
     *
     * Only the creator can start the battle, and it needs at least two participants. It ends when its time is over, or when every participant has a score that counts. The best score wins.
     */
    '/battle/{id}/start': {
      params: {
        /** Id of the battle. */
        id: Id;
      };
      responses: { 200: Battle };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Send a chat message, or enter the active round.
     *
     * The text `!enter` or `!enter 3 7 12 30 41` makes an entry of the active round. Missing numbers are derived from the entry’s id and the wallet. 400: the numbers are wrong. 403: the wallet is muted or banned, or does not meet a rule of the round, or may not enter a round with prizes in stablecoin (deny list, self-exclusion); the error begins with the rule. 409: no round accepts entries, or the wallet has the maximum number of entries. 429: the wallet sends too many messages, must wait in slow mode, or all wallets together send too many messages; entries count only for the first of these limits. A refused message is not stored. The receipt is signed with a key of `/.well-known/coinop-keys`.
     */
    '/chat/message': {
      body: ChatMessageRequest;
      idempotent: true;
      responses: { 201: ChatMessageReceipt };
      errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Create a chat round.
     *
     * The round is pending until it is started.
     */
    '/chat/round': { body: ChatRoundTerms; idempotent: true; responses: { 201: ChatRound }; errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Start a chat round.
     *
     * Freezes the round’s parameters, reserves its prizes in the treasury, and opens it for entries. 409 when the round is not pending, another round is active, or the treasury’s free balance does not cover the prizes.
     */
    '/chat/round/{id}/start': {
      params: {
        /** The round’s id. */
        id: string;
      };
      responses: { 200: ChatRound };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Upload a clip.
     *
     * Takes a multipart form with the file in the field `file`, in any order. At most 50 clips and 1073741824 bytes per wallet and UTC day (429). All clips of a wallet together have a storage quota: 409 when it is used up. The same content again gives 409, with the existing clip in `Location`. With the same `Idempotency-Key` and the same fields, the response is the existing clip. Quests count the clip within a second.
     */
    '/clip/upload': { body: Bytes; idempotent: true; responses: { 201: Clip }; errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Create a burn event.
     *
     * The event burns the reward token. It is pending until it is activated. A wallet may have at most 5 pending events of the last 7 days.
     */
    '/events/burn': {
      body: BurnEventTerms;
      idempotent: true;
      responses: { 201: BurnEvent };
      errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Activate a burn event.
     *
     * An operator can activate the event. The wallet that created it can do so if it is an organiser. Only one event can be active at a time. 409: the event is not pending, or another event is active.
     */
    '/events/burn/{id}/activate': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      responses: { 200: BurnEvent };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Build the transaction that burns tokens for a burn event.
     *
     * Returns an unsigned transaction with a burn instruction and the memo of the event. The caller’s wallet signs and sends it. The burn counts when its transaction is finalized; its source counts only if it is valid for the wallet then. 409: the event is not active, or the caller’s associated token account holds less than amount or is frozen. At most 30 requests per minute.
     */
    '/events/burn/{id}/transaction': {
      params: {
        /** Id of the burn event. */
        id: Id;
      };
      body: BurnTransactionRequest;
      responses: { 200: BurnTransaction };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Start a play.
     *
     * A score names its play, and each play can have one score. A new play ends the older plays of the wallet in the game, normally all of them (some games allow several live plays): the score of an ended play is refused. A wallet can start at most 200 plays without a score per hour. If the service requires a token, a wallet that holds too little of it (see `/eligibility`) gets 403.
     *
     * If the game’s verification is heartbeat, open a WebSocket to `heartbeatUrl` with the session’s cookie, or with `&ticket=` and a ticket of `POST /auth/ticket` at the end of the URL. Send `{"type":"heartbeat"}` at once and then every 5 seconds. The service answers each with `{"type":"heartbeat","beats":n,"at":"…"}`. Heartbeats less than 2 seconds apart are not counted. The service closes a socket that is silent for 15 seconds (4008). The client can open a new socket within 15 seconds of the last heartbeat; the service then closes the old one (4001). When a newer play ended the play, the service closes the socket at its next heartbeat (4002). When the wallet signs out, or its session ends in another way, the service closes the socket (4003). Any other message, or more than 20 messages in 10 seconds, closes the socket (1008). When the service restarts, it closes the socket with 1012; connect again. If the client is silent for too long, its score is refused. If the service loses heartbeats, the score is held. The upgrade can fail with 400, 401, 403, 404, 409 (the game needs no heartbeats, or the play is over or has its score) or 503.
     */
    '/game/{id}/play': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      idempotent: true;
      responses: { 201: PlayReceipt };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Append a record to a hash chain.
     *
     * Any JSON object up to 256 KB. Records are never changed or deleted, except that an operator may erase the content of a record when the law demands it. Each record contains the hash of the previous record. At most 60 a minute and 1000 a day per wallet and game. All records of a wallet together have a quota: 409 when it is used up.
     */
    '/game/{id}/record': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      body?: { [key: string]: unknown };
      idempotent: true;
      responses: { 201: RecordReceipt };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Deliver a message of a bridged chat.
     *
     * The delivery is stored and acknowledged; a worker processes it later. The list of deliveries shows the verdict. The message appears with the author’s handle, and with the wallet if the account is linked. `!enter …` makes an entry only if the account was linked before the round opened; otherwise the message appears without an entry. Messages with wrong numbers, of muted or banned authors, or above the rate limit do not appear. Idempotent per platform and messageId.
     */
    '/integrations/chat/messages': { body?: BridgedMessage; responses: { 200: Acknowledged }; errors: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Receive a delivery of X.
     *
     * Stores and acknowledges the delivery; a worker processes it and writes the verdict into the list of deliveries. Accepts events of the Account Activity API and of the X Activity API. A follow of the arcade’s account, a repost of its posts or a mention is credited to the wallet that has linked the author’s account, or later, when a wallet links it. A repeated event of either API counts once.
     */
    '/integrations/x/events': { body?: XDelivery; responses: { 200: Acknowledged }; errors: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Answer a decision that concerns the caller.
     *
     * A decision can be answered once (409). A wallet may have at most 20 open appeals (409). 404: there is no such decision. `GET /me/scores`, `/me/clips`, `/me/chat/messages` and the sanctions of the profile show decisions with their reasons.
     */
    '/me/appeals': {
      body: AppealRequest;
      idempotent: true;
      responses: { 201: OwnAppeal };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Exclude the caller from paid rounds and from rounds with prizes in stablecoin.
     *
     * The request names `until` or `days`. Until then, paid tickets and entries in chat rounds with prizes in stablecoin are refused (403), and a payment that arrives is refunded. Nobody can end an exclusion early, but the caller can prolong it: an earlier end is 409.
     */
    '/me/exclusion': {
      body: ExclusionRequest;
      idempotent: true;
      responses: { 200: Exclusion };
      errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Accept the current terms of paid rounds.
     *
     * A paid ticket needs the acceptance of the current version. 409: the version is not the current one, or the service has no terms. A repeated request changes nothing.
     */
    '/me/terms': { body: TermsAcceptance; responses: { 200: Terms }; errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Create a quest.
     *
     * Activities on the whole UTC day of the start count. 409: the id was used before, or there are 200 quests already.
     */
    '/quests': { body: NewQuest; idempotent: true; responses: { 201: QuestForOperators }; errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Compute the epoch of an ended day.
     *
     * Computes the latest ended day if the request names no epoch. Normally the service computes each day automatically. Returns 201 when this request created the epoch, 200 when the epoch existed, and 202 while the epoch is being computed. The request waits up to 5 s for the epoch (`Prefer: wait=1` shortens this wait to 1 s). A day closes one minute after its end, and the epoch is computed then. Fails with 409 when the epoch was imported.
     */
    '/rewards/trigger-epoch': {
      body?: TriggerEpochRequest;
      idempotent: true;
      responses: { 200: RewardEpoch; 201: RewardEpoch; 202: RewardEpoch };
      errors: 400 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Open a legacy round.
     *
     * All tickets have one price, or are free; one winner gets the sum of all ticket prices. The round is active immediately and its parameters never change. It is drawn like a chat round. `entryRules` limit the wallets that get tickets. A wallet can have at most 3 rounds that are not drawn yet (409). The rounds of a wallet and of all wallets per UTC day are limited (429), and an operator can switch such rounds off (403).
     *
     * @deprecated Kept for existing clients.
     */
    '/round': {
      body: LegacyRoundTerms;
      idempotent: true;
      responses: { 201: LegacyRound };
      errors: 400 | 401 | 403 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Close a legacy round for its draw.
     *
     * The creator can close the round at any time, any other wallet after its closing time. Without this request the service closes the round soon after that time. A closed round accepts no tickets; tickets that are still being checked are refunded. 202 until the round is drawn, then 200 with the winner. A round without tickets becomes void at once: 200 with `status: void`.
     *
     * @deprecated Kept for existing clients.
     */
    '/round/{id}/finalize': {
      params: {
        /** The round’s id. */
        id: string;
      };
      idempotent: true;
      responses: { 200: LegacyResult; 202: LegacyRound };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Request a ticket of a legacy round.
     *
     * A free round gives one ticket per wallet. Otherwise the request names a successful transaction that the wallet has signed. The transaction must contain exactly one transfer, with the wallet as authority, of exactly the price to the round’s `payTo.tokenAccount`, and one memo, `payTo.memo`. The payment must be made before the closing time and be finalized before the round is closed. A transaction pays for one ticket only. The request waits up to 20 s for the finalized transaction (`Prefer: wait=5` waits 5 s, `respond-async` does not wait) and then answers 202. The same request can be repeated; the event `ticket_confirmed` or `ticket_refused` reports the result. A refused ticket is 409 with the reason. Payments to the treasury in a refused transaction are refunded; see `refunds` of the ticket at `Location`. A ticket whose transaction is not found within 10 minutes is refused and can be requested again. A wallet that does not meet the entry rules of the round when it requests the ticket gets 403 with the rule, and its payment is refunded. The same applies to a paid ticket of a wallet that is on the deny list, that excluded itself (`/me/exclusion`), or that did not accept the current terms (`/me/terms`); these three are checked again when the payment is found. The service also finds payments of exactly the price that no request names, and records their tickets.  To check the rules before it pays, a wallet can send the request without `transaction`: 403 with the rule, otherwise 400.
     *
     * @deprecated Kept for existing clients.
     */
    '/round/{id}/ticket': {
      params: {
        /** The round’s id. */
        id: string;
      };
      body?: TicketRequest;
      idempotent: true;
      responses: { 201: Ticket; 202: Ticket };
      errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Status report of the orchestrator about one of its payments.
     *
     * Every signed JSON object is stored, acknowledged and processed later; the list of deliveries shows the verdict. A delivery of an unknown type has no effect. A report must name a payment of the orchestrator, with the same wallet, amount and currency. A report with an older timestamp is ignored. A completed payment can only become reversed. The transactionSignature of a completed payment is checked on the chain.
     */
    '/webhooks/payment-status': { body?: PaymentStatus; responses: { 200: Acknowledged }; errors: 400 | 401 | 409 | 413 | 415 | 429 | 500 | 503 };
  };
  put: {
    /**
     * Create or change a cabinet.
     *
     * The ETag is the version. With If-Match, the request replaces only the named version. `possessedBy` does not change.
     */
    '/admin/cabinets/{id}': {
      params: {
        /** The id of the cabinet. */
        id: Slug;
      };
      body: CabinetRequest;
      responses: { 200: Cabinet; 201: Cabinet };
      errors: 400 | 403 | 404 | 412 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Set the time between two chat messages of an author.
     *
     * Takes effect in every process within a second. Entries of rounds are not slowed down. `slowModeSec` of `/chat/status` shows the time. Until the first request, the setting `CHAT_SLOW_MODE_SEC` applies.
     */
    '/admin/chat/slow-mode': { body: ChatSlowMode; responses: { 200: ChatSlowMode }; errors: 400 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * Set the reward rules.
     *
     * The rules apply to epochs that are created later. An epoch is created when its day closes, or later, and keeps the rules of that time. The ETag is the version of the rules. With If-Match, the request fails with 412 when the rules in force have another version. If the rules equal those in force, the version does not change. A higher pool or cap above the amount in APPROVALS gets the response 202 with an approval, and the rules are stored when a second token approves them.
     */
    '/admin/config/rewards': {
      body: RewardRulesRequest;
      responses: { 200: RewardsConfig; 202: Approval };
      errors: 400 | 403 | 412 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Create or change a game.
     *
     * A change takes effect in every process within a second. The ETag is the version. With If-Match, the request replaces only the named version. A request that changes nothing keeps the version.
     */
    '/admin/games/{id}': {
      params: {
        /** The id of the game. */
        id: GameId;
      };
      body: GameRequest;
      responses: { 200: Game; 201: Game };
      errors: 400 | 403 | 404 | 412 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Upload the simulation of a game.
     *
     * A WebAssembly module that exports `start`, `tick` and `score` and has no imports (docs/replays.md). The service adds metering, stores the module under its hash, and never changes or deletes it. The upload does not change the game: name the hash in `simulation` of `PUT /admin/games/{id}`. The same module can have one set of limits only: 409 with other limits.
     */
    '/admin/games/{id}/simulation': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      query: {
        /** Ticks of the game per second. */
        ticksPerSecond: number;

        /** Maximum ticks of a play. */
        maxTicks: number;

        /** WebAssembly instructions that a play may execute on average per tick. */
        instructionsPerTick?: number;
      };
      body: Bytes;
      responses: { 200: SimulationReceipt };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Save the caller’s state of a game.
     *
     * Any JSON up to 256 KB. The text of the state is kept as it was sent, so the order of keys and the digits of long numbers stay. With If-Match, the request replaces only the named version; "0" means that no state was saved before. All states of a wallet together have a quota: 409 when a larger state would exceed it.
     */
    '/game/{id}/state': {
      params: {
        /** The game’s id. */
        id: Slug;
      };
      body?: unknown;
      responses: { 200: GameStateSaved };
      errors: 400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Choose the .sol name with which lists show the caller.
     *
     * The name must resolve to the caller’s wallet, as `POST /api/wallet/resolve` resolves it. The service checks this again every hour, and forgets a name that resolves to another wallet. Lists show the handle of a linked account in place of the name. 404 when the name has no wallet, 409 when it resolves to another wallet.
     */
    '/me/name': { body: OwnNameRequest; responses: { 200: OwnName }; errors: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503 };
  };
  patch: {
    /**
     * Change a quest.
     *
     * Creates a new version. Completions and earned points stay. A patch that changes nothing keeps the version. With If-Match, the quest changes only if it has that version.
     */
    '/quests/{id}': {
      params: {
        /** Id of the quest. */
        id: Slug;
      };
      body?: QuestPatch;
      responses: { 200: QuestForOperators };
      errors: 400 | 403 | 404 | 412 | 413 | 415 | 429 | 500 | 503;
    };
  };
  delete: {
    /**
     * Remove a clip.
     *
     * The clip disappears at once; its file is deleted soon after. The wallet that uploaded it cannot upload the same content again.
     */
    '/admin/clips/{id}': {
      params: {
        /** The id of the clip. */
        id: Id;
      };
      query?: {
        /** Why; the wallet that uploaded the clip can read it. */
        reason?: string;
      };
      responses: { 204: null };
      errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Cancel a scheduled one-time event.
     *
     * 409 if the event has begun.
     */
    '/admin/events/{id}': {
      params: {
        /** The id of the scheduled theme or event. */
        id: Id;
      };
      responses: { 204: null };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Readmit a wallet that an operator excluded from an epoch.
     *
     * The allocation is computed anew. A wallet that is also excluded by its ban or by a rule stays excluded. Fails with 409 when the transaction with the root was signed, and for an epoch that was imported, is being computed or settled.
     */
    '/admin/rewards/epoch/{epoch}/exclusions/{wallet}': {
      params: {
        /** The epoch: UTC days since 1970-01-01. */
        epoch: string;

        /** A Solana address: base58 of 32 bytes. */
        wallet: Wallet;
      };
      responses: { 202: RewardEpoch };
      errors: 400 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503;
    };

    /** Cancel a scheduled change of the theme. */
    '/admin/theme/schedule/{id}': {
      params: {
        /** The id of the scheduled theme or event. */
        id: Id;
      };
      responses: { 204: null };
      errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Unlink the caller’s account of a network.
     *
     * Engagements of the account stay credited and do not count for another wallet. The same wallet can link the account again at once, another wallet after 30 days.
     */
    '/auth/social/link/{platform}': {
      params: {
        /** The network of the linked account. */
        platform: string;
      };
      responses: { 204: null };
      errors: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Delete the caller’s account.
     *
     * Ends all sessions, and deletes names, linked accounts, saved states, contents of game records, clips, texts of chat messages and appeals; a job does this within minutes. The address of the wallet stays with its scores, points, entries, claims and payments, because boards, draws and the chain contain it. A ban stays. The wallet may sign in again; it keeps its points.
     */
    '/me': { responses: { 202: null }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * End all of the caller’s sessions.
     *
     * Signs the wallet out everywhere, also here: ends its sessions in all processes, with their event streams and WebSockets.
     */
    '/me/sessions': { responses: { 204: null }; errors: 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503 };

    /**
     * End one of the caller’s sessions.
     *
     * Ends the session in all processes, with its event streams and WebSockets. Ending the session of this request also clears its cookie.
     */
    '/me/sessions/{id}': {
      params: {
        /** Id of the session. It is neither the value of the cookie nor the token, and cannot be used to sign in. */
        id: string;
      };
      responses: { 204: null };
      errors: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };

    /**
     * Delete a quest.
     *
     * The quest disappears from all lists and cannot be completed. Earned points stay.
     */
    '/quests/{id}': {
      params: {
        /** Id of the quest. */
        id: Slug;
      };
      responses: { 204: null };
      errors: 400 | 403 | 404 | 413 | 415 | 429 | 500 | 503;
    };
  };
}

/** The data of every event, by its type. */
export interface Events {
  /** A one-time event of the arcade began, such as an animation or an announcement. */
  arcade_event: {
    id: string;
    name: string;
    startsAt: Instant;
    endsAt: Instant;
    payload?: unknown;
    type: 'arcade_event';
    category: 'system';
    at: Instant;
  };

  /** A battle was opened. Its creator has seat 1; other wallets can join until it starts or expires. */
  battle_created: {
    battleId: string;
    gameId: string;
    createdBy: string;
    maxPlayers: number;
    durationSec: number;
    expiresAt: Instant;
    type: 'battle_created';
    category: 'gameplay';
    at: Instant;
  };

  /** A battle expired, because it did not start within an hour. */
  battle_expired: { battleId: string; gameId: string; type: 'battle_expired'; category: 'gameplay'; at: Instant };

  /** A wallet took a seat in a battle. After the last seat, `battle_started` follows. */
  battle_joined: {
    battleId: string;
    gameId: string;
    wallet: string;
    seat: number;
    seatsLeft: number;
    type: 'battle_joined';
    category: 'gameplay';
    at: Instant;
  };

  /** A battle ended. Results are sorted by score, best first. Equal scores share a place. Without scores there are no winners. */
  battle_result: {
    battleId: string;
    gameId: string;
    winners: string[];
    results: { wallet: string; place: number | null; score: number | null }[];
    type: 'battle_result';
    category: 'gameplay';
    at: Instant;
  };

  /** A battle began. Scores that name it count until it ends. */
  battle_started: { battleId: string; gameId: string; players: string[]; endsAt: Instant; type: 'battle_started'; category: 'gameplay'; at: Instant };

  /** A burn event started. Burns with its memo count until it ends. */
  burn_event_activated: {
    burnEventId: string;
    title: string;
    mint: string;
    endsAt: Instant;
    type: 'burn_event_activated';
    category: 'system';
    at: Instant;
  };

  /** A burn event ended. Burns from before its end may still be recorded. */
  burn_event_ended: {
    burnEventId: string;
    title: string;
    burnTotal: string;
    participants: number;
    type: 'burn_event_ended';
    category: 'system';
    at: Instant;
  };

  /** A finalized burn counts for an event. `source` is null when the source in its memo was not valid for the wallet. */
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

  /** A chat message of a wallet or of a bridged chat. `entryId` is set when the message made an entry. */
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

  /** A message was deleted, or an author was muted, unmuted, banned or unbanned. */
  chat_moderation: {
    action: 'delete' | 'mute' | 'unmute' | 'ban' | 'unban';
    messageId: string | null;
    wallet: string | null;
    until: Instant | null;
    type: 'chat_moderation';
    category: 'chat';
    at: Instant;
  };

  /** A transaction that claims a reward is confirmed, or finalized if `final` is true. Any wallet can have sent the transaction. */
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

  /** A claim failed; the wallet can request the claim again. The event is sent only to the wallet of the claim. */
  claim_failed: { claimId: string; epoch: number; wallet: string; reason: string; type: 'claim_failed'; category: 'rewards'; at: Instant };

  /** The transaction of a claim is being sent. The event is sent only to the wallet of the claim. */
  claim_submitted: { claimId: string; epoch: number; wallet: string; amount: string; type: 'claim_submitted'; category: 'rewards'; at: Instant };

  /** The transaction with the root and the tokens of an epoch is finalized. The rewards can be claimed until the epoch expires. */
  epoch_committed: {
    epoch: number;
    root: string;
    total: string;
    leaves: number;
    signature: string | null;
    expiresAt: Instant;
    type: 'epoch_committed';
    category: 'rewards';
    at: Instant;
  };

  /** The leaves of an epoch are computed, or computed anew after its exclusions changed. When its review is over, an epoch with leaves is committed to the chain; an epoch without leaves has the status empty. */
  epoch_computed: {
    epoch: number;
    allocation: number;
    status: 'computed' | 'empty';
    leaves: number;
    total: string;
    undistributed: string;
    root: string | null;
    type: 'epoch_computed';
    category: 'rewards';
    at: Instant;
  };

  /** The unclaimed rewards of an epoch are settled off-chain and cannot be claimed any more. */
  epoch_settled: { epoch: number; claimed: string; total: string; type: 'epoch_settled'; category: 'rewards'; at: Instant };

  /** A wallet’s saved state of a game changed. Read the new state from `/game/{id}/state`. Sent only to this wallet. */
  game_state: { gameId: string; version: number; type: 'game_state'; category: 'gameplay'; at: Instant };

  /** An entry of a round was accepted. A ticket of a legacy round has no numbers. */
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

  /** A message to display, for all clients or for one wallet. */
  notification: { level: 'info' | 'warning'; text: string; link?: string; type: 'notification'; category: 'system'; at: Instant };

  /** The transaction of a payment is finalized. The event is sent only to the wallet of the payment. */
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

  /** A payment failed. The amount stays owed until an operator decides about the payment. The event is sent only to the wallet of the payment. */
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

  /** A listed quest has a new version. Read it again from `GET /quests`. */
  quest_changed: {
    questId: string;
    version: number;
    title: string;
    category: 'gameplay';
    points: number;
    task: boolean;
    repeat: 'once' | 'daily' | 'weekly';
    burnEventId: string | null;
    type: 'quest_changed';
    at: Instant;
  };

  /** The wallet completed a quest or a daily task and received points. Sent to this wallet only. */
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

  /** A quest or a daily task can be completed from now on: it was created or activated, or its window began. `GET /quests` lists it with its requirement. */
  quest_published: {
    questId: string;
    version: number;
    title: string;
    category: 'gameplay';
    points: number;
    task: boolean;
    repeat: 'once' | 'daily' | 'weekly';
    burnEventId: string | null;
    type: 'quest_published';
    at: Instant;
  };

  /** A quest can no longer be completed: it was deleted or deactivated, or its window or burn event ended. Earned points stay. */
  quest_withdrawn: { questId: string; type: 'quest_withdrawn'; category: 'gameplay'; at: Instant };

  /** A wallet was bound to its referrer. Sent only to these two wallets. */
  referral_bound: { wallet: string; referrer: string; code: string; boundAt: Instant; type: 'referral_bound'; category: 'gameplay'; at: Instant };

  /** Scores of referred wallets gave points to their referrer, normally within a second after the scores. `wallets` has the part of each referred wallet. Points are negative when scores were voided. Sent only to the referrer. */
  referral_earned: {
    points: Points;
    betaPoints: Points;
    wallets: { wallet: string; points: Points; betaPoints: Points }[];
    type: 'referral_earned';
    category: 'gameplay';
    at: Instant;
  };

  /** A round has closed for entries. Its entries are public; a commitment to them follows. `closed` is the signed statement about them. */
  round_closed: {
    roundId: string;
    kind: 'chat' | 'legacy';
    entries: number;
    closed: {
      statement: {
        type: 'coinop/closed/1';
        draws: Wallet;
        round: string;
        parametersHash: string;
        closedAt: string;
        count: number;
        runningHash: string;
      };
      signature: string;
    };
    type: 'round_closed';
    category: 'round';
    at: Instant;
  };

  /** The commitment to a round’s entries is finalized on the chain. The named beacon round decides the draw. */
  round_committed: {
    roundId: string;
    kind: 'chat' | 'legacy';
    entries: number;
    root: string;
    leaf: string;
    account: string;
    slot: number;
    signature: string | null;
    beaconRound: number;
    dueAt: Instant;
    type: 'round_committed';
    category: 'round';
    at: Instant;
  };

  /** A round was drawn. A legacy round has `winningTicket` (an index) instead of numbers. */
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

  /** A round has opened for entries. Its parameters never change; the announcement is signed. */
  round_started: {
    roundId: string;
    kind: 'chat' | 'legacy';
    title: string | null;
    opensAt: Instant;
    closesAt: Instant;
    parameters:
      | {
          kind: 'chat';
          picks: number;
          range: number;
          prizes: { place: number; amount: string; mint: Wallet }[];
          maxEntriesPerWallet: number;
          version: 2;
          round: string;
          entryRules: {
            minTokenBalance: { amount: string; mint: Wallet } | null;
            minAcceptedScores: number | null;
            linkedAccount: string | null;
            signedInBefore: string | null;
          };
          opensAt: string;
          closesAt: string;
          leadSec: number;
          commitWithinSec: number;
          drawWithinSec: number;
          payWithinSec: number;
          draws: Wallet;
          treasury: Wallet;
          genesisHash: Wallet;
        }
      | {
          kind: 'legacy';
          ticketPrice: string;
          mint: Wallet;
          maxTickets: number | null;
          maxTicketsPerWallet: number | null;
          version: 2;
          round: string;
          entryRules: {
            minTokenBalance: { amount: string; mint: Wallet } | null;
            minAcceptedScores: number | null;
            linkedAccount: string | null;
            signedInBefore: string | null;
          };
          opensAt: string;
          closesAt: string;
          leadSec: number;
          commitWithinSec: number;
          drawWithinSec: number;
          payWithinSec: number;
          draws: Wallet;
          treasury: Wallet;
          genesisHash: Wallet;
        };
    parametersHash: string;
    announcement: {
      statement: { type: 'coinop/announcement/1'; draws: Wallet; round: string; parametersHash: string; announcedAt: string };
      signature: string;
    };
    type: 'round_started';
    category: 'round';
    at: Instant;
  };

  /** A round ended without entries, so it is not drawn. */
  round_void: {
    roundId: string;
    kind: 'chat' | 'legacy';
    reason: string;
    closed: {
      statement: {
        type: 'coinop/closed/1';
        draws: Wallet;
        round: string;
        parametersHash: string;
        closedAt: string;
        count: number;
        runningHash: string;
      };
      signature: string;
    };
    type: 'round_void';
    category: 'round';
    at: Instant;
  };

  /** A held score was accepted or rejected, an accepted score was voided, or a voided score was restored. Sent only to the wallet that submitted it. */
  score_decided: {
    scoreId: string;
    gameId: string;
    decision: 'accepted' | 'rejected' | 'voided' | 'restored';
    pointsAwarded: Points;
    reason?: string;
    type: 'score_decided';
    category: 'gameplay';
    at: Instant;
  };

  /** A score is held for a moderator’s decision. Sent only to the wallet that submitted it. */
  score_held: { scoreId: string; gameId: string; reasons: string[]; type: 'score_held'; category: 'gameplay'; at: Instant };

  /** A score was recorded: accepted or held. Has the fields of the response to `POST /arcade/score`. Sent once per score, only to the wallet that submitted it. `rank` is null while the ranks cannot be read. */
  score_recorded: {
    gameId: string;
    scoreId: Id;
    status: ScoreStatus;
    normalizedScore: number;

    /** Points that the score gives; 0 unless it is accepted, so 0 after a void. */
    pointsAwarded: number;

    /** Why `pointsAwarded` is 0; null when the score gives points. */
    noPointsReason: NoPointsReason | null;

    /** Points that the daily caps still allow the wallet to earn on the current UTC day, after this score. */
    leftToday: {
      /** In this game. Never more than `all`. */
      game: number;

      /** In all games together. */
      all: number;
    };

    /** Whether the score was the wallet’s best in the game when it was recorded; false unless it is accepted. */
    personalBest: boolean;
    rank: ScoreRank | null;
    type: 'score_recorded';
    category: 'gameplay';
    at: Instant;
  };

  /** All-time boards of games changed, by a new best score, a decision, a void, a restored score or a ban. Sent at most 20 times a second, with the latest change of each wallet and game, at most 100. `score` and `rank` are null when the wallet left the board. Ranks are those after the change; overtaken wallets are not listed, so order the board by score. `more` lists the games with further changes: read their boards again. */
  score_update: {
    updates: { wallet: string; gameId: string; score: number | null; rank: number | null }[];
    more?: string[];
    type: 'score_update';
    category: 'gameplay';
    at: Instant;
  };

  /** The theme of the arcade changed. */
  theme_changed: { theme: { [key: string]: unknown }; version: number; type: 'theme_changed'; category: 'system'; at: Instant };

  /** A ticket was accepted. Sent to its wallet only. */
  ticket_confirmed: {
    roundId: string;
    ticketId: string;
    ticketNumber: number;
    signature: string | null;
    type: 'ticket_confirmed';
    category: 'round';
    at: Instant;
  };

  /** A ticket was refused; its payment is refunded. Sent to its wallet only. */
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

  /** A wallet won a prize. The payout follows automatically. */
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

  /** Events may be missing: reload the displayed state, for example from these paths. */
  reset: { type: 'reset'; category: 'system'; at: Instant; links: { leaderboard: string; arcade: string } };
}
