/** The credentials of an endpoint: none, a session cookie, an admin token, an admin or internal token, a webhook signature. */
export type Caller = 'none' | 'session' | 'admin' | 'internal' | 'webhook';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** An endpoint of the specification. */
export interface SpecifiedEndpoint {
  /** `GET /game/{id}/rank` */
  readonly name: string;
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly caller: Caller;
  /** Whether the response is an array whose items have the fields. */
  readonly isList: boolean;
  /** Whether the response may be null. */
  readonly isNullable: boolean;
  /** Fields of the response as dotted paths. A list in a path stands for its items. */
  readonly fields: readonly string[];
}

/** Per endpoint: method and path | credentials | fields of the response. `[]`: the response is an array. `?`: it may be null. */
const TABLE = `
  POST /auth/nonce | none | nonce
  POST /auth/verify | none | wallet
  POST /auth/logout | session |
  GET /me | session | wallet eligible session
  POST /auth/social/link/start | session | url challenge
  POST /auth/social/link/verify | session | platform accountId handle

  GET /game/{id}/rank | session | rank score percentile
  POST /arcade/score | session | scoreId status rank.rank rank.score rank.percentile
  GET /arcade/state | none | theme activeEvents.type activeEvents.id arcade
  GET /arcade/cabinets | none | [] gameId status possessedBy display
  GET /game/{id}/state | session | state
  PUT /game/{id}/state | session | version updatedAt
  POST /game/{id}/record | session | recordId hash recordedAt
  POST /game/{id}/play | session | playId startedAt
  GET /game/{id}/leaderboard | none | [] rank wallet score
  GET /game/{id}/stats | none | totalPlays uniquePlayers
  GET /game/referral/leaderboard | none | [] rank wallet score

  POST /battle/create | session | id game join participants.wallet
  GET /battle/active | none | [] id status game join participants.wallet
  POST /battle/{id}/join | session | id status participants.wallet

  POST /round | session | id ticketPrice maxTickets closesAt
  POST /round/{id}/ticket | session | ticketNumber transaction.signature transaction.status
  POST /round/{id}/finalize | session | winningTicket payout
  GET /round/{id} | none | status entries prizePool
  POST /chat/round | admin | id picks range prizes durationSec maxEntriesPerWallet
  GET /chat/round/active | none | ? id status entries
  GET /chat/round/{id}/entries | none | [] id index wallet numbers
  POST /chat/round/{id}/start | admin | id status
  GET /chat/round/{id}/winning-numbers | none | numbers proof
  GET /chat/round/{id}/audit | none | beacon.randomness entryHashes draw
  GET /chat/round/{id}/entries/root | none | root
  GET /chat/round/{id}/winners | none | [] wallet prize
  GET /chat/round/{id}/payouts | none | status signatures payouts.status payouts.signature
  GET /chat/round/recent-finalized | none | [] id numbers entries winners
  GET /chat/status | none | status checks

  GET /leaderboard/global | none | [] rank wallet score
  GET /leaderboard/global/stats | none | totalParticipants totalPointsDistributed
  GET /leaderboard/global/period-stats | none | period participants points
  GET /leaderboard/global/rank | session | rank score percentile
  GET /leaderboard/quests | none | [] rank wallet score
  GET /leaderboard/quests/rank | session | rank score
  GET /leaderboard/quests/stats | none | totalParticipants totalPointsDistributed

  POST /api/rewards/claim | session | signature claimId status
  GET /api/rewards/epoch/{epoch}/proof/{wallet} | none | proof amount index
  GET /api/rewards/epoch/{epoch} | none | epoch root total status timestamp
  GET /api/rewards/epochs | none | [] epoch root total status timestamp
  GET /api/rewards/epochs/committed | none | [] epoch root total status timestamp
  GET /api/rewards/wallet/{wallet}/claimable | none | [] epoch amount
  GET /api/rewards/wallet/{wallet}/claimable-epochs | none | [] epoch amount
  GET /api/rewards/wallet/{wallet}/projected | none | amount breakdown
  GET /api/rewards/wallet/{wallet}/pending-usdc | none | amount
  GET /api/rewards/pool/today | none | total pool distribution timestamp
  GET /config/rewards | none | pool distribution
  POST /rewards/trigger-epoch | admin | epoch status
  POST /api/rewards/settled-offchain | admin | epochs.epoch epochs.status
  POST /api/rewards/epoch/import | internal | epoch status

  GET /api/referral/link | session | url code
  POST /api/referral/link | session | url code
  POST /api/referral/bind | session | wallet referrer boundAt
  GET /api/referral/summary | session | referralCount pointsEarned
  GET /api/referral/stats | session | links conversion earnings
  GET /api/referral/referred | session | [] wallet boundAt

  GET /api/profile | session | points rank linkedAccounts tokenBalance
  GET /api/profile/beta-points | session | total sources
  GET /api/profile/beta-stats | session | enabled points
  GET /api/beta/preference | session | enabled
  POST /api/beta/preference | session | enabled
  GET /api/tasks/daily | session | [] id completed points
  POST /api/tasks/daily/complete | session | pointsAwarded task.completed
  GET /api/me/payments | session | [] amount timestamp
  GET /users/{wallet}/stats | none | wallet points rank
  GET /debug/points | session | regular.total beta.total
  POST /api/beta/convert | admin | wallet betaPoints points

  GET /events | none |
  GET /events/burn/active | none | ? id status participants burnTotal bySource
  POST /events/burn | session | id title durationSec status
  POST /events/burn/{id}/activate | session | id status
  GET /events/burn/{id}/leaderboard | none | [] rank wallet amount
  GET /events/burn/{id}/leaderboard/referrals | none | [] rank wallet amount
  GET /events/burn/{id}/leaderboard/game | none | [] rank wallet amount
  GET /events/burn/{id}/leaderboard/social | none | [] rank wallet amount
  GET /events/burn/{id}/rank | session | rank burned
  GET /events/burn/{id}/quests | none | [] id requirement points

  GET /quests | none | [] id requirement points
  GET /me/quests | session | [] id progress completed
  GET /me/quest-multiplier | session | multiplier factors
  GET /ledger/quests | session | [] questId points timestamp
  POST /quests | admin | id requirement points
  GET /quests/{id} | admin | id requirement points active completions
  PATCH /quests/{id} | admin | id requirement points
  DELETE /quests/{id} | admin |
  POST /admin/quests/{id}/complete | admin | questId wallet completedAt

  POST /integrations/x/events | webhook | received
  GET /social/round/{id} | none | id status meta
  GET /social/latest | none | id status
  GET /social/round/{id}/post | none | text media

  POST /clip/upload | session | id title url createdAt
  GET /clips | none | [] id wallet gameId title url createdAt

  GET /eligibility | session | eligible tokenBalance
  GET /config/normalization | none | scale games.normalization games.caps dailyPointsCap
  GET /config/games | none | [] id name category
  GET /api/price/sol | none | price
  GET /healthz | none |
  POST /api/wallet/resolve | none | wallet
  POST /webhooks/payment-status | webhook | received

  POST /admin/theme | admin | theme
  POST /admin/event | admin | id
  POST /admin/cabinet/possess | admin | id status possessedBy
  POST /admin/cabinet/release | admin | id status possessedBy
  POST /auto/start | admin | running nextAt
  POST /auto/stop | admin | running nextAt
  GET /auto/status | admin | running nextAt
`;

const CALLERS: readonly Caller[] = ['none', 'session', 'admin', 'internal', 'webhook'];

function readLine(line: string): SpecifiedEndpoint {
  const [name = '', who, answer = ''] = line.split('|').map((part) => part.trim());
  const [verb, path = ''] = name.split(' ');
  const method = METHODS.find((one) => one === verb);
  const caller = CALLERS.find((one) => one === who);
  if (!method || !caller) throw new Error(`the table has a malformed line: ${line}`);
  const words = answer.split(/\s+/).filter(Boolean);
  const fields = words.filter((word) => word !== '[]' && word !== '?');
  return { name, method, path, caller, isList: words.includes('[]'), isNullable: words.includes('?'), fields };
}

/** All endpoints of the specification with their fields. */
export const SPECIFICATION: readonly SpecifiedEndpoint[] = TABLE.split('\n')
  .map((line) => line.trim())
  .filter(Boolean)
  .map(readLine);

/** Further endpoints of the specification, without fields. */
export const OTHER_ENDPOINTS: readonly string[] = `
  GET /readyz
  GET /.well-known/coinop-keys
  GET /battle/{id}
  POST /battle/{id}/start
  GET /round/{id}/tickets/{ticketId}
  GET /rounds
  GET /chat/rounds
  POST /chat/message
  GET /chat/round/{id}/entries/{entryId}/proof
  POST /integrations/chat/messages
  GET /integrations/x/events
  GET /api/rewards/epoch/{epoch}/leaves
  GET /api/rewards/claims/{id}
  GET /clips/{id}/media
  PUT /admin/games/{id}
  PUT /admin/cabinets/{id}
  PUT /admin/config/rewards
  GET /admin/scores
  POST /admin/scores/{id}/decision
  POST /admin/scores/{id}/void
  POST /admin/burn/{id}/end
  POST /admin/chat/moderate
  DELETE /admin/clips/{id}
  GET /admin/payments
  GET /admin/webhooks
  GET /admin/webhooks/{source}/{id}
  POST /admin/webhooks/{source}/{id}/replay
  GET /admin/audit
`
  .trim()
  .split(/\n\s*/);
