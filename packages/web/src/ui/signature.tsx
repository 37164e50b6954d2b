import { settings } from '../settings.ts';

/** Shows the signature of a transaction, with a link to an explorer for the public clusters. */
export function Signature({ signature }: { signature: string | null }) {
  if (signature === null) return null;
  const short = `${signature.slice(0, 8)}…`;
  if (settings.chain === 'localnet' || settings.development) {
    return (
      <code class="quiet" title={signature}>
        {short}
      </code>
    );
  }
  const cluster = settings.chain === 'mainnet' ? '' : `?cluster=${settings.chain}`;
  return (
    <a href={`https://explorer.solana.com/tx/${signature}${cluster}`} rel="noreferrer">
      transaction {short}
    </a>
  );
}
