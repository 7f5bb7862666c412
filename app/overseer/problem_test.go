package overseer

import (
	"fmt"
	"strings"
	"testing"

	"toolshed/app/store"
	"toolshed/runtime/host"
)

func TestAGadgetLearnsNothingOfThisComputer(t *testing.T) {
	secret := "/home/ada/.local/share/toolshed/workspace.db"
	err := fmt.Errorf("open: %w", &store.FileError{Op: "open", Path: secret, Kind: store.ErrDamaged, Err: fmt.Errorf("bad page in %s", secret)})
	p := Explain(err)
	if !strings.Contains(p.Error(), secret) {
		t.Errorf("the person is not told the file: %v", p)
	}
	public := p.ForGadget()
	if strings.Contains(public.Error()+public.Detail, secret) || public.Kind != "damaged" || public.What == "" {
		t.Errorf("the gadget is told %+v", public)
	}
	own := Explain(&host.Failure{Kind: host.KindCPU, Message: "it used more than 30s"}).ForGadget()
	if own.Why != "it used more than 30s" {
		t.Errorf("what lies in the gadget is hidden from it: %+v", own)
	}
}

func TestEveryKindOfFailureHasWords(t *testing.T) {
	for _, kind := range []string{host.KindSyntax, host.KindNoGadget, host.KindStart, host.KindCPU, host.KindMemory, host.KindStack, host.KindStorage, host.KindProtocol, host.KindTrap, host.KindChild, host.KindClosed} {
		p := Explain(&host.Failure{Kind: kind, Message: "reason"})
		if p.Kind != kind || p.What == "" || p.Todo == "" || p.Why != "reason" || p.What == "The gadget stopped" {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}
