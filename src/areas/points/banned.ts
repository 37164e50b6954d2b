/**
 * SQL condition: the wallet is banned. Boards do not list a banned wallet, but its standings, scores and ledger rows stay as they are, so that the end
 * of the ban shows the wallet again with all its points.
 * @param wallet SQL expression of the wallet's address
 */
export const isBanned = (wallet: string): string =>
  `exists (select from players banned where banned.wallet = ${wallet} and banned.banned_at is not null)`;
