import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { SmallCheckout } from './small-checkout.ts';

const testFile = (name: string, body: string, imports = '') =>
  `import { expect, test } from '@jest/globals';\n${imports}\ntest('${name}', async () => { ${body} });\n`;

const checkout = new SmallCheckout({
  'src/lib/sign.ts': `/** Returns the sign of a number. */
export function sign(n: number): string {
  if (n < 0) {
    return 'minus';
  }
  return 'plus';
}

interface Unused {
  readonly field: string;
}

export const width = (text: Unused): number => text.field.length;
`,
  'test/lib/sign.test.ts': testFile('seven is positive', `expect(sign(7)).toBe('plus');`, `import { sign } from '#lib/sign.ts';`),
  'test/lib/slow.long.test.ts': testFile('a long test', 'expect(1).toBe(1);'),
  'test/broken/broken.test.ts': testFile('two is three', 'expect(2).toBe(3);'),
  'test/areas/servers.test.ts': testFile(
    'PostgreSQL starts when a test asks for it',
    `const socket = process.env.TEST_SERVERS;
     const before = existsSync(join(dirname(socket), 'postgres'));
     const { database, redis } = await requestServers(socket);
     process.stderr.write(JSON.stringify({ before, database, redis }) + '\\n');`,
    `import { existsSync } from 'node:fs';\nimport { dirname, join } from 'node:path';\nimport { requestServers } from '#dev/test/servers.ts';`,
  ),
});
afterAll(async () => {
  await checkout.run('--stop');
  checkout.remove();
});

/** Returns the URLs that the test in `test/areas` printed. */
function urlsIn(errors: string): { before: boolean; database: string; redis: string } {
  return JSON.parse(/^\{"before".*$/m.exec(errors)?.[0] ?? '{}');
}

describe('bin/test PATH', () => {
  test('prints the result of the tests, then runs the checks, and counts a failed check', async () => {
    const { code, text, errors, lastLine } = await checkout.run('test/lib');
    expect(errors).toContain('Tests:       1 passed');
    expect(text).toContain('CHECKED');
    expect(errors).toContain('npm run check exited with code 1');
    expect(lastLine).toBe('tests: 1 passed, 1 failed');
    expect(code).toBe(1);
  });

  test('--quick runs no checks', async () => {
    const { code, text, lastLine } = await checkout.run('--quick', 'test/lib');
    expect(text).not.toContain('CHECKED');
    expect(lastLine).toBe('tests: 1 passed, 0 failed');
    expect(code).toBe(0);
  });

  test('a failed test gives exit code 1 and is counted in the last line', async () => {
    const { code, lastLine } = await checkout.run('--quick', 'test/broken', 'test/lib');
    expect(lastLine).toBe('tests: 1 passed, 1 failed');
    expect(code).toBe(1);
  });

  test('--name runs only the tests whose name matches; no match counts as a failure', async () => {
    expect((await checkout.run('--quick', '--name', 'seven', 'test/lib', 'test/broken')).lastLine).toBe('tests: 1 passed, 0 failed');
    expect((await checkout.run('--quick', '--name', 'eight', 'test/lib')).lastLine).toBe('tests: 0 passed, 1 failed');
  });

  test('a long test runs with --all, or if the path names its file', async () => {
    expect((await checkout.run('--quick', '--all', 'test/lib')).lastLine).toBe('tests: 2 passed, 0 failed');
    expect((await checkout.run('--quick', 'test/lib/slow.long.test.ts')).lastLine).toBe('tests: 1 passed, 0 failed');
  });

  test('an interrupted run prints a failure as its last line', async () => {
    const running = checkout.start('--quick', 'test/lib');
    await running.printed('test/lib/sign.test.ts');
    running.child.kill('SIGINT');
    expect((await running.done).lastLine).toMatch(/^tests: \d passed, \d failed$/);
  });
});

describe('the servers of the tests', () => {
  test('start when the first test asks for them and stop at the end of the run', async () => {
    const { errors, lastLine } = await checkout.run('--quick', 'test/areas');
    expect(lastLine).toBe('tests: 1 passed, 0 failed');
    expect(urlsIn(errors)).toMatchObject({ before: false, database: expect.stringContaining('postgresql://') });
  });

  test('--keep: later runs, also two at the same time, use the same servers until --stop', async () => {
    const first = urlsIn((await checkout.run('--quick', '--keep', 'test/areas')).errors);
    const both = await Promise.all([checkout.run('--quick', '--keep', 'test/areas'), checkout.run('--quick', '--keep', 'test/areas')]);
    for (const { errors, lastLine } of both) {
      expect(lastLine).toBe('tests: 1 passed, 0 failed');
      expect(urlsIn(errors)).toMatchObject({ database: first.database, redis: first.redis });
    }
    expect(await checkout.run('--stop')).toMatchObject({ code: 0, errors: 'The kept servers have stopped.\n' });
    expect(await checkout.run('--stop')).toMatchObject({ code: 0, errors: 'No servers are kept.\n' });
    expect(urlsIn((await checkout.run('--quick', '--keep', 'test/areas')).errors).database).not.toBe(first.database);
  });

  test('--keep starts new servers after the process that keeps the servers was killed', async () => {
    const killed = urlsIn((await checkout.run('--quick', '--keep', 'test/areas')).errors);
    const folder = join(decodeURIComponent(/@([^:]*)/.exec(killed.database)?.[1] ?? ''), '../..');
    process.kill(Number(readFileSync(join(folder, 'owner'), 'utf8').split(' ')[0]), 'SIGKILL');
    const { errors, lastLine } = await checkout.run('--quick', '--keep', 'test/areas');
    expect(lastLine).toBe('tests: 1 passed, 0 failed');
    expect(urlsIn(errors).database).not.toBe(killed.database);
  });
});

describe('bin/test --coverage', () => {
  test('prints covered lines and branches per area, without comments and types, and writes a report', async () => {
    const { text } = await checkout.run('--quick', '--coverage', 'test/lib');
    const row = text.split('\n').find((line) => line.startsWith('src/lib'));
    // Lines with code: the function, the condition, both returns and the constant. One return is not executed.
    expect(row?.replace(/ +/g, ' ')).toBe('src/lib 80.0 % 4/5 66.7 % 2/3');
    expect(readFileSync(join(checkout.path, 'coverage/src/lib/sign.ts.html'), 'utf8')).toContain('minus');
  });
});

describe('bin/test --watch', () => {
  test('runs the tests of a changed file again and ends with exit code 0 after Ctrl-C', async () => {
    const watching = checkout.start('--watch', 'test/lib');
    await watching.printed('1 passed, 0 failed.\nWaiting for changes');
    checkout.write('src/lib/sign.ts', `export const sign = (n: number): string => (n < 0 ? 'minus' : 'wrong');\n`);
    await watching.printed('0 passed, 1 failed.\nWaiting for changes');
    watching.child.kill('SIGINT');
    expect((await watching.done).lastLine).toBe('tests: 0 passed, 1 failed');
  });
});

describe('bin/test --watch without a path', () => {
  test('runs the tests that import a changed file', async () => {
    const watching = checkout.start('--watch');
    await watching.printed('Waiting for changes');
    checkout.write('src/lib/sign.ts', `export const sign = (n: number): string => (n < 0 ? 'minus' : 'plus');\n`);
    await watching.printed('1 passed, 0 failed.\nWaiting for changes');
    watching.child.kill('SIGINT');
    expect(await watching.done).toMatchObject({
      code: 0,
      lastLine: 'tests: 1 passed, 0 failed',
      errors: expect.stringContaining('test/lib/sign.test.ts'),
    });
  });
});

describe('wrong arguments of bin/test', () => {
  test.each([
    [['--fast'], "Unknown option '--fast'; bin/test --help lists the options."],
    [['test/nothing'], 'There is no file or folder test/nothing.'],
    [['src'], 'There is no test below src; tests are the files test/**/*.test.ts.'],
    [['--watch', '--all'], '--watch and --all exclude each other.'],
    [['--stop', 'test/lib'], '--stop takes no other argument.'],
  ])('%j gives one sentence and exit code 2', async (args, sentence) => {
    expect(await checkout.run(...args)).toMatchObject({ code: 2, errors: `${sentence}\n`, lastLine: 'tests: 0 passed, 1 failed' });
  });

  test('--help lists the options', async () => {
    const { code, text } = await checkout.run('--help');
    expect(code).toBe(0);
    for (const option of ['--quick', '--name', '--keep', '--stop', '--watch', '--coverage', '--all']) expect(text).toContain(`  ${option} `);
  });
});
