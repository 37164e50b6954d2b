/**
 * Returns the SQL condition that a wallet has an accepted score in a game that verifies scores. Uses one index lookup per game version instead of one
 * scan of the wallet's scores, because there are few game versions.
 * @param wallet SQL expression of the wallet's address
 */
export const hasVerifiedScore = (wallet: string): string => `exists (
     select 1 from game_versions v, lateral (
       select 1 from scores s where s.wallet = ${wallet} and s.game_id = v.game_id and s.game_version = v.version and s.status = 'accepted' limit 1) s
     where v.definition ->> 'verification' <> 'none')`;
