import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { type Expression, type Node, SyntaxKind } from 'typescript/unstable/ast';
import {
  isAwaitExpression,
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isPropertyAccessExpression,
  isVoidExpression,
} from 'typescript/unstable/ast/is';
import { API, type Checker, type Type } from 'typescript/unstable/sync';

const root = join(import.meta.dirname, '../..');

/** Returns whether a value of this type may be a promise. */
function isPromise(checker: Checker, type: Type): boolean {
  const present = checker.getNonNullableType(type) ?? type;
  const parts = present.isUnionType() ? present.getTypes() : [present];
  return parts.some((part) => checker.getPropertyOfType(part, 'then') !== undefined);
}

/** Returns whether the expression handles the rejection of its promise: `.catch(handler)` or `.then(one, handler)`, also before `.finally(…)`. */
function handlesRejection(expression: Expression): boolean {
  if (!isCallExpression(expression) || !isPropertyAccessExpression(expression.expression)) return false;
  const { name, expression: promise } = expression.expression;
  if (name.text === 'finally') return handlesRejection(promise);
  return expression.arguments.length === (name.text === 'catch' ? 1 : name.text === 'then' ? 2 : Number.NaN);
}

/** Returns the expressions of a file whose values are dropped: statements, except assignments, and the operands of `void`. */
function droppedExpressions(file: Node): { expression: Expression; isVoid: boolean }[] {
  const dropped: { expression: Expression; isVoid: boolean }[] = [];
  const visit = (node: Node): undefined => {
    const isVoid = isVoidExpression(node);
    if (isVoid || isExpressionStatement(node)) {
      const { expression } = node;
      const isAssignment =
        isBinaryExpression(expression) &&
        expression.operatorToken.kind >= SyntaxKind.FirstAssignment &&
        expression.operatorToken.kind <= SyntaxKind.LastAssignment;
      if (!isAwaitExpression(expression) && !isAssignment) dropped.push({ expression, isVoid });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return dropped;
}

test('every promise is awaited, returned, stored or has a handler of its rejection, and none is hidden behind `void`', () => {
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] }).getProjects()[0];
    if (!project) throw new Error('TypeScript cannot open tsconfig.json');
    const floating: string[] = [];
    let handled = 0;
    for (const path of project.program.getSourceFileNames()) {
      const name = relative(root, path);
      if (name.startsWith('..') || name.includes('node_modules')) continue;
      const file = project.program.getSourceFile(path);
      if (!file) throw new Error(`TypeScript cannot read ${name}`);
      const dropped = droppedExpressions(file);
      const types = project.checker.getTypeAtLocation(dropped.map(({ expression }) => expression));
      for (const [i, { expression, isVoid }] of dropped.entries()) {
        const type = types[i];
        if (type === undefined || !isPromise(project.checker, type)) continue;
        if (!isVoid && handlesRejection(expression)) handled++;
        else floating.push(`${name}:${file.text.slice(0, expression.getStart(file)).split('\n').length} ${expression.getText(file).slice(0, 80)}`);
      }
    }
    expect(floating).toEqual([]);
    // Shows that the checker sees promises.
    expect(handled).toBeGreaterThan(30);
  } finally {
    api.close();
  }
}, 120_000);
