import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ADMIN_TOKEN } from '#dev/stack/system.ts';
import { send } from '#test/support/wallet.ts';

/** Time after which the operator looks again, ms. */
const LOOK_MS = 2_000;
const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` };

interface ChainView {
  readonly contradictions: readonly { readonly kind: string }[];
}

/** An operator who resumes the transaction kinds that a contradiction of the providers has paused, as docs/operations.md says. */
export class Operator {
  /** Number of resumptions by kind. */
  readonly resumed = new Map<string, number>();
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Works until the run is over. Ignores errors: the API process or the database may be down. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#resumeAll().catch(() => undefined);
      for (let waited = 0; waited < LOOK_MS && !isOver(); waited += 100) await sleep(100);
    }
  }

  async #resumeAll(): Promise<void> {
    const answer = await send({ url: this.#url }, '/admin/chain', { headers, signal: AbortSignal.timeout(5_000) });
    if (!answer.ok) return;
    for (const { kind } of ((await answer.json()) as ChainView).contradictions) {
      const resumed = await send({ url: this.#url }, '/admin/chain/resume', { json: { kind }, headers, signal: AbortSignal.timeout(5_000) });
      if (resumed.ok) this.resumed.set(kind, (this.resumed.get(kind) ?? 0) + 1);
    }
  }
}
