import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import coverage, { type CoverageMap, type CoverageSummary } from 'istanbul-lib-coverage';
import libReport from 'istanbul-lib-report';
import reports from 'istanbul-reports';
import { readCoverage } from './measured.ts';

/**
 * Prints the covered lines and branches of each area, and writes a report with each line to `coverage/` in the checkout.
 * @param folder the coverage files that Node.js wrote (NODE_V8_COVERAGE)
 */
export async function reportCoverage(folder: string, checkout: string): Promise<void> {
  const measured = existsSync(folder) ? await readCoverage(folder, checkout) : coverage.createCoverageMap();
  const context = libReport.createContext({ dir: join(checkout, 'coverage'), coverageMap: measured });
  for (const report of [reports.create('html'), reports.create('lcovonly')]) report.execute(context);
  process.stdout.write(`\n${coverageTable(measured, checkout)}\n\nEach line: coverage/index.html\n`);
}

/** Returns a table of the covered lines and branches: one row per area, and a row with the total. */
export function coverageTable(measured: CoverageMap, checkout: string): string {
  const areas = new Map<string, CoverageSummary>();
  const total = coverage.createCoverageSummary();
  for (const path of measured.files()) {
    const area = areaOf(relative(checkout, path));
    const summary = areas.get(area) ?? coverage.createCoverageSummary();
    areas.set(area, summary);
    const file = measured.fileCoverageFor(path).toSummary();
    summary.merge(file);
    total.merge(file);
  }
  const rows = [...areas].sort(([a], [b]) => (a < b ? -1 : 1)).concat([['all', total]]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const cells = ({ covered, total: of, pct }: { covered: number; total: number; pct: number }) =>
    `${(of === 0 ? '–' : `${pct.toFixed(1)} %`).padStart(8)} ${`${covered}/${of}`.padStart(13)}`;
  const lines = rows.map(([name, { data }]) => `${name.padEnd(width)} ${cells(data.lines)} ${cells(data.branches)}`);
  return [`${'area'.padEnd(width)} ${'lines'.padStart(22)} ${'branches'.padStart(22)}`, ...lines].join('\n');
}

/** Returns the area of a source file: `src/lib`, `src/platform/<x>`, `src/areas/<x>`, `tools/<x>`, `dev/<x>`, or its first folder. */
function areaOf(file: string): string {
  const [first = '', second = '', third = ''] = file.split('/');
  if (first === 'src')
    return third === '' ? 'src' : ['platform', 'areas'].includes(second) && !third.endsWith('.ts') ? `src/${second}/${third}` : `src/${second}`;
  return ['tools', 'dev', 'packages', 'programs'].includes(first) && third !== '' ? `${first}/${second}` : first;
}
