package kube

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
)

// unreachable is the error of a request that had no answer, with the server's address once and what to look at.
func (c *Client) unreachable(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		err = e.Err // without the URL, which is long
	}
	remedy := "check that it is up, engines.kubernetes.api.server where that is set, and that no NetworkPolicy keeps this pod from it"
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		remedy = "check engines.kubernetes.api.ca_file, which holds the authorities that its certificate must be signed by"
	}
	return fmt.Errorf("the API server %s cannot be reached: %w; %s", c.base.Host, bare(err), remedy)
}

// bare takes off what the network's own errors put in front: the address again, and the system call.
func bare(err error) error {
	if e, is := errors.AsType[*net.OpError](err); is && e.Op == "dial" {
		err = e.Err
	}
	if e, is := errors.AsType[*os.SyscallError](err); is {
		err = e.Err
	}
	return err
}
