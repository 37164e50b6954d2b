import { join, relative } from 'node:path';
import type { CallExpression, Node, SourceFile } from 'typescript/unstable/ast';
import { isCallExpression, isNoSubstitutionTemplateLiteral, isStringLiteral, isTemplateExpression } from 'typescript/unstable/ast/is';
import { API, type Checker, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/sync';

const root = join(import.meta.dirname, '../../..');

/** The JavaScript value that a column must have. `json` stands for every type that only JSON can have. */
export type ValueKind = 'string' | 'number' | 'boolean' | 'bytes' | 'date' | 'string[]' | 'number[]' | 'boolean[]' | 'json' | 'unknown';

export interface DeclaredColumn {
  readonly kind: ValueKind;
  readonly nullable: boolean;
  /** Whether the row may lack the column. */
  readonly optional: boolean;
}

/** A call in the source code that declares a statement, and the row type that it declares. */
export interface DeclaredStatement {
  /** Matches the name of the statement. A name with placeholders declares several statements. */
  readonly name: RegExp;
  /** The name as the source code has it. */
  readonly label: string;
  /** Source file, relative to the checkout, and line. */
  readonly at: string;
  /** The columns of the declared row; null when the call declares no row. */
  readonly columns: ReadonlyMap<string, DeclaredColumn> | null;
}

/**
 * Returns each call whose type is `Statement<Row>` and whose first argument is a name.
 * @param folder folder of the checkout, such as 'src'
 */
export function readDeclaredStatements(folder: string): DeclaredStatement[] {
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] }).getProjects()[0];
    if (!project) throw new Error('tsconfig.json cannot be opened');
    const calls = project.rootFiles
      .filter((file) => relative(root, file).startsWith(`${folder}/`))
      .flatMap((file) => {
        const source = project.program.getSourceFile(file);
        return source ? namedCalls(source) : [];
      });
    const types = project.checker.getTypeAtLocation(calls.map(({ call }) => call));
    return calls.flatMap(({ call, source, pattern, label }, i) => {
      const type = types[i];
      if (type?.getSymbol()?.name !== 'Statement' || !type.isTypeReference()) return [];
      const row = project.checker.getTypeArguments(type)[0];
      if (!row) return [];
      const line = source.text.slice(0, call.getStart(source)).split('\n').length;
      const at = `${relative(root, source.fileName)}:${line}`;
      return [{ name: pattern, label, at, columns: row.flags & TypeFlags.AnyOrUnknown ? null : columnsOf(project.checker, row) }];
    });
  } finally {
    api.close();
  }
}

interface NamedCall {
  readonly call: CallExpression;
  readonly source: SourceFile;
  readonly pattern: RegExp;
  readonly label: string;
}

/** Returns the calls whose first argument is a string literal or a template. */
function namedCalls(source: SourceFile): NamedCall[] {
  const calls: NamedCall[] = [];
  const visit = (node: Node): void => {
    if (isCallExpression(node)) {
      const [name] = node.arguments;
      if (name && (isStringLiteral(name) || isNoSubstitutionTemplateLiteral(name))) {
        calls.push({ call: node, source, pattern: new RegExp(`^${RegExp.escape(name.text)}$`), label: name.text });
      } else if (name && isTemplateExpression(name)) {
        const parts = [name.head.text, ...name.templateSpans.map((span) => span.literal.text)];
        calls.push({ call: node, source, pattern: new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('\\w+')}$`), label: parts.join('*') });
      }
    }
    node.forEachChild(visit);
  };
  visit(source);
  return calls;
}

/** Returns the columns of a row type. A union of rows has the columns of all its members. */
function columnsOf(checker: Checker, row: Type): Map<string, DeclaredColumn> {
  const columns = new Map<string, DeclaredColumn>();
  const rows = row.isUnionType() ? row.getTypes() : [row];
  for (const member of rows) {
    for (const property of checker.getPropertiesOfType(member)) {
      const type = checker.getTypeOfSymbol(property);
      if (!type) continue;
      const column = { ...columnOf(checker, type), optional: (property.flags & SymbolFlags.Optional) !== 0 };
      const other = columns.get(property.name);
      columns.set(property.name, other ? mergeColumns(other, column) : column);
    }
  }
  return columns;
}

const mergeColumns = (a: DeclaredColumn, b: DeclaredColumn): DeclaredColumn => ({
  kind: a.kind === 'unknown' ? b.kind : a.kind,
  nullable: a.nullable || b.nullable,
  optional: a.optional || b.optional,
});

function columnOf(checker: Checker, type: Type): Omit<DeclaredColumn, 'optional'> {
  const members = type.isUnionType() ? type.getTypes() : [type];
  const isNull = (member: Type) => (member.flags & (TypeFlags.Null | TypeFlags.Undefined)) !== 0;
  const kinds = new Set(members.filter((member) => !isNull(member)).map((member) => kindOf(checker, member)));
  const [kind = 'unknown'] = kinds;
  return { kind: kinds.size > 1 ? 'json' : kind, nullable: members.some(isNull) };
}

function kindOf(checker: Checker, type: Type): ValueKind {
  if (type.flags & (TypeFlags.AnyOrUnknown | TypeFlags.Never)) return 'unknown';
  if (type.flags & (TypeFlags.String | TypeFlags.StringLiteral | TypeFlags.TemplateLiteral)) return 'string';
  if (type.flags & (TypeFlags.Number | TypeFlags.NumberLiteral)) return 'number';
  if (type.flags & (TypeFlags.Boolean | TypeFlags.BooleanLiteral)) return 'boolean';
  const name = type.getSymbol()?.name;
  if (name === 'Buffer' || name === 'Uint8Array') return 'bytes';
  if (name === 'Date') return 'date';
  if (checker.isArrayType(type) && type.isTypeReference()) {
    const element = checker.getTypeArguments(type)[0];
    const kind = element ? columnOf(checker, element).kind : 'unknown';
    if (kind === 'string' || kind === 'number' || kind === 'boolean') return `${kind}[]`;
  }
  return 'json';
}
