import { isDetached } from '#areas/points';

/**
 * Returns the SQL condition that a wallet has an accepted score in a game that verifies scores. Uses one index lookup per game version instead of one
 * scan of the wallet's scores, because there are few game versions. The sums of a detached month do not have the version of the game, so its scores count
 * if any version of the game verifies scores.
 * @param wallet SQL expression of the wallet's address
 */
export const hasVerifiedScore = (wallet: string): string => `(exists (
     select 1 from game_versions v, lateral (
       select 1 from scores s where s.wallet = ${wallet} and s.game_id = v.game_id and s.game_version = v.version and s.status = 'accepted' limit 1) s
     where v.definition ->> 'verification' <> 'none')
   or exists (
     select 1 from carried_games g join game_versions v on v.game_id = g.game_id and v.definition ->> 'verification' <> 'none'
     where g.wallet = ${wallet} and g.scores > 0 and ${isDetached('g.month')}))`;
