import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { inspectConfig } from '#config';
import { openContext } from '#context';
import type { ProcessType, State } from '#doctor/check.ts';
import { CHECKS } from '#doctor/checks/index.ts';
import { examine, type Result } from '#doctor/examine.ts';
import type { Clock } from '#lib/clock.ts';
import { openLog } from '#platform/observability/log.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startPriceServer } from '#test/support/servers/price-server.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

/** How a test changes the settings and the surroundings of the checks. */
interface Changes {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly process?: ProcessType;
  readonly clock?: Clock;
}

/** A development system in which nothing is wrong, and its checks. */
export interface DoctorTest {
  readonly t: TestApp;
  readonly chain: TestChain;
  /** A folder that is deleted at the end. */
  readonly folder: string;
  /** Runs the named checks on new connections. */
  run(names: readonly string[], changes?: Changes): Promise<Result[]>;
  /** Runs a check, and expects a finding with this state and sentence, and a remedy unless the state is `off`. */
  expectFinding(name: string, state: State, sentence: string, changes?: Changes): Promise<void>;
  close(): Promise<void>;
}

export async function startDoctorTest(): Promise<DoctorTest> {
  const chain = await startTestChain();
  const prices = await startPriceServer();
  const folder = mkdtempSync(join(tmpdir(), 'coinop-doctor-'));
  const urls = { SOLANA_RPC_SECOND_URL: chain.localnet.secondUrl, PRICE_URL: prices.url };
  const t = await startTestApp({
    workers: false,
    env: { ...chain.env, ...urls, SIGN_IN_CHAIN: 'localnet', MEDIA_FOLDER: folder, DRAW_LEAD_SEC: '3' },
  });
  const run: DoctorTest['run'] = async (names, { env = {}, process = 'worker', clock } = {}) => {
    const { config, problems } = inspectConfig({ ...t.env, ...env });
    const log = openLog({ ...config, logLevel: 'silent' }, 'test-doctor');
    const app = await openContext(config, 'test-doctor', { log, ...(clock ? { clock } : {}) });
    try {
      const checks = CHECKS.filter(({ name }) => names.includes(name));
      expect(checks).toHaveLength(names.length);
      const results = await examine(app, process, { problems, checks });
      return results.filter(({ check }) => check !== 'settings');
    } finally {
      await app.close();
    }
  };
  return {
    t,
    chain,
    folder,
    run,
    async expectFinding(name, state, sentence, changes) {
      const remedy = state === 'off' ? null : expect.any(String);
      expect(await run([name], changes)).toContainEqual({ check: name, state, what: expect.stringContaining(sentence), remedy });
    },
    async close() {
      await t.close();
      await prices.close();
      await chain.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
