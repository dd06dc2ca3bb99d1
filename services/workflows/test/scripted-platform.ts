import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { vi } from 'vitest'
import type { EngineRun } from '../src/ports.ts'
import { type Pipelines, pipelinesIn } from './pipelines.ts'
import type { ScriptedEngine } from './scripted-engine.ts'

/** A platform whose tasks do what the test says, with a space to work in and another one. */
export interface ScriptedPlatform {
  readonly platform: TestPlatform
  readonly home: TestSpace
  readonly other: TestSpace
  /** Of the space `home`. */
  readonly pipelines: Pipelines
}

export async function startScripted(
  engine: ScriptedEngine,
  env: Readonly<Record<string, string>> = {},
): Promise<ScriptedPlatform> {
  const platform = await startTestPlatform({ engine, env })
  const [home, other] = [await platform.space(), await platform.space()]
  return { platform, home, other, pipelines: pipelinesIn(platform, home) }
}

/** What the engine gets of a run, once it has it. */
export const handedOver = (engine: ScriptedEngine, runId: string): Promise<EngineRun> =>
  vi.waitUntil(() => engine.submitted.find((run) => run.runId === runId), { timeout: 20_000 })

/** A run that the engine has. @returns its id */
export async function submitted(
  engine: ScriptedEngine,
  pipelines: Pipelines,
  workflow: string,
): Promise<string> {
  const runId = await pipelines.running(workflow)
  await handedOver(engine, runId)
  return runId
}

export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
