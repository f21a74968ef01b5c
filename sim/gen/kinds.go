package gen

import "mcpsim/sim/trace"

// choice is what the next step is: a kind of step, or the beginning of a motif.
type choice uint8

// The choices. Advance is the simplest step: rapid shrinks towards it.
const (
	cAdvance choice = iota
	cSettle
	cEdit
	cWrite
	cRemove
	cMkdir
	cRmdir
	cChmod
	cTouch
	cLook
	cApprove
	cReject
	cApproveAll
	cElsewhere
	cReload
	cCall
	cServer
	cCrash
	cRuntimeAdd
	cRuntimeRemove
	cExtension
	cOpen
	cClose
	cTrust
	cInitialize
	cRestart
	cShutdown
	cFault
	firstMotif
)

const numChoices = int(firstMotif) + numMotifs

// weights has one weight for each choice.
type weights [numChoices]uint16

// kinds says how each kind of step is drawn. expect and note are never drawn.
var kinds = [firstMotif]struct {
	do   trace.StepKind
	draw func(*builder, *trace.Step)
}{
	cAdvance:       {trace.Advance, (*builder).advance},
	cSettle:        {trace.Settle, func(*builder, *trace.Step) {}},
	cEdit:          {trace.Edit, (*builder).edit},
	cWrite:         {trace.Write, (*builder).write},
	cRemove:        {trace.Remove, (*builder).remove},
	cMkdir:         {trace.Mkdir, (*builder).dir},
	cRmdir:         {trace.Rmdir, (*builder).dir},
	cChmod:         {trace.Chmod, (*builder).chmod},
	cTouch:         {trace.Touch, (*builder).touch},
	cLook:          {trace.Look, (*builder).inSession},
	cApprove:       {trace.Approve, (*builder).answer},
	cReject:        {trace.Reject, (*builder).answer},
	cApproveAll:    {trace.ApproveAll, (*builder).inSession},
	cElsewhere:     {trace.DecideElsewhere, (*builder).elsewhere},
	cReload:        {trace.Reload, (*builder).inSession},
	cCall:          {trace.Call, (*builder).call},
	cServer:        {trace.Server, (*builder).server},
	cCrash:         {trace.Crash, (*builder).crash},
	cRuntimeAdd:    {trace.RuntimeAdd, (*builder).runtimeAdd},
	cRuntimeRemove: {trace.RuntimeRemove, (*builder).runtimeRemove},
	cExtension:     {trace.Extension, (*builder).extension},
	cOpen:          {trace.Open, (*builder).open},
	cClose:         {trace.Close, (*builder).inSession},
	cTrust:         {trace.Trust, (*builder).trust},
	cInitialize:    {trace.Initialize, func(*builder, *trace.Step) {}},
	cRestart:       {trace.Restart, (*builder).restart},
	cShutdown:      {trace.Shutdown, func(*builder, *trace.Step) {}},
	cFault:         {trace.Fault, (*builder).fault},
}
